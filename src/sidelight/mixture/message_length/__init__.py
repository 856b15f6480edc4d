"""TITLE mixture/message_length."""
