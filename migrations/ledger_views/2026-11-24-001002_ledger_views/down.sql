drop view open_recoveries;
drop view board_texts;
