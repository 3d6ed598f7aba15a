"""Empty: programs of SDK 0.4 import this package for its side effects, of which there are none here (mlsdk.md 1.1)."""
