drop function take_session;
