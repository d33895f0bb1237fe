drop function refuse_mere_update cascade;
