drop function if exists remove_over;
