-- The type of the host's ids. sweep binds each id as text and casts it to this domain: decisions.md#ids
create domain id as {{ id }};
