//! Recorded screens of real agents and programs, and what the rules say of them.
