drop function if exists refresh_statistics;
