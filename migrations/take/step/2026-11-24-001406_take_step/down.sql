drop function take_step;
