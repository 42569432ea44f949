"""Structures over all labels that make a search fast: label trees and how they are built."""
