"""The documented inner core of all mixtures: components, EM, starts, criteria."""
