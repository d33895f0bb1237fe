drop function if exists take_session;
