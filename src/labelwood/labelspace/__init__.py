"""What is known of the labels themselves: names, and how they relate."""
