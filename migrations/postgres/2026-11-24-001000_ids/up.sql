-- What the host's ids are: whatever names one is text, and is cast to this.
create domain id as {{ id }};
