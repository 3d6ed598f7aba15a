"""Tests of mlsdk."""
