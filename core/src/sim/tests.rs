//! The simulator against what can be worked out by hand.
