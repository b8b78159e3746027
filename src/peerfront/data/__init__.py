"""Readers, writers and validators of the field's file formats."""
