//! Rows of any size, depth and number: a sweep and the status stay small and quick, and serve everybody else.
