drop function if exists refuse_mere_update cascade;
