-- fixture agent
insert into {{ agents }} ({{ key }}, {{ name }}) values ({% raw %}{{ agent }}{% endraw %}, 'Ada');

-- fixture agent: paused
update {{ agents }} set {{ active }} = {{ no }} where {{ key }} = {% raw %}{{ agent }}{% endraw %};

-- fixture issue
insert into {{ issues }} ({{ key }}, {{ owner }}, {{ changed }}, {{ state }})
values ({% raw %}{{ issue }}, {{ agent }}{% endraw %}, {{ at | write }}, {{ doing }});

-- fixture issue: at work
insert into {{ runs }} ({{ issue }}, {{ owner }}, {{ began }}, {{ state }})
values ({% raw %}{{ issue }}, {{ agent }}{% endraw %}, {{ at | write }}, {{ running }});

-- fixture issue: stops
update {{ runs }} set {{ state }} = {{ failed }}, {{ began }} = least({{ began }}, {{ at | write }}), {{ ended }} = {{ at | write }}
where {{ issue }} = {% raw %}{{ issue }}{% endraw %} and {{ state }} = {{ running }};

-- fixture issue: queued
insert into {{ runs }} ({{ issue }}, {{ owner }}, {{ began }}, {{ state }})
values ({% raw %}{{ issue }}, {{ agent }}{% endraw %}, {{ at | write }}, {{ queued }});

-- fixture issue: wakes
select count(*) from {{ runs }} where {{ issue }} = {% raw %}{{ issue }}{% endraw %} and {{ state }} = {{ queued }}

-- fixture issue: taken up
update {{ runs }} set {{ state }} = {{ running }}, {{ began }} = {{ at | write }}
where {{ issue }} = {% raw %}{{ issue }}{% endraw %} and {{ state }} = {{ queued }};

-- fixture issue: finished
update {{ issues }} set {{ state }} = {{ done }}, {{ changed }} = {{ at | write }} where {{ key }} = {% raw %}{{ issue }}{% endraw %};
update {{ runs }} set {{ state }} = {{ ok }}, {{ ended }} = {{ at | write }}
where {{ issue }} = {% raw %}{{ issue }}{% endraw %} and {{ state }} = {{ running }};

-- fixture issue: escalated
select {{ note }} from {{ issues }} where {{ key }} = {% raw %}{{ issue }}{% endraw %} and {{ state }} = {{ stuck }}

-- fixture issue: crowd
insert into {{ issues }} ({{ key }}, {{ owner }}, {{ changed }}, {{ state }})
select {{ "n" | row_id }}, {% raw %}{{ agent }}{% endraw %}, {{ at | write }}, {{ done }} from generate_series(1, {% raw %}{{ count }}{% endraw %}) n;
insert into {{ runs }} ({{ issue }}, {{ owner }}, {{ began }}, {{ ended }}, {{ state }})
select {{ key }}, {{ owner }}, {{ changed }}, {{ changed }}, {{ ok }} from {{ issues }} where {{ state }} = {{ done }};

-- fixture issue: left, nobody owns it
update {{ issues }} set {{ owner }} = null where {{ key }} = {% raw %}{{ issue }}{% endraw %};
