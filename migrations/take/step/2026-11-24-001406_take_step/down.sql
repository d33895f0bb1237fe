drop function if exists take_step;
