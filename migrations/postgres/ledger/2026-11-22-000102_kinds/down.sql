delete from recoveries where kind not in ('issue', 'step');
alter table recoveries add constraint recoveries_kind_check check (kind in ('issue', 'step'));
