drop view agent_exemptions;
drop view open_recoveries;
drop view board_texts;
