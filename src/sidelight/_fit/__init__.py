"""TITLE _fit."""
