"""``sidelight ask``: the dialogue with a person in the terminal."""
