"""A file without tests."""
