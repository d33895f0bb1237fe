-- A company in which everybody who may write a text writes what no page may believe.
update agents set name = '"><img src=x onerror=alert(1)>' || char(8238) || 'Ada' where name = 'Ada';
update issues set title = '<script>alert("title")</script> & </title></script><!-- ' || char(8237) || char(27) || '[31m'
    where identifier = 'ACM-26';
update issues set title = 'password=hunter2hunter2 and Bearer hunter2-hunter2-hunter2' where identifier = 'ACM-15';
update issues set title = replace(printf('%.900c', 'W'), 'W', 'Wide and '), identifier = 'ACM-29" onmouseover="alert(1)'
    where identifier = 'ACM-29';
update issues set title = printf('%.900c', 'W') where identifier = 'ACM-13';
update issues set title = char(1488, 1489, 1490) || ' ' || char(128293) || ' ' || char(8294) || 'javascript:alert(1)'
    where identifier = 'ACM-25';
update plans set title = ''' onload=''alert(1) {{ 7 * 7 }} {% if %}' where title = 'Pricing page';
update issues set identifier = '../../etc', title = '' where identifier = 'ACM-101';
update issues set tenant = 'ten/ant ?&#<b>' where identifier in ('ACM-26', 'ACM-102', '../../etc');
update plan_steps set title = '<img src=x onerror=alert(2)>' || printf('%.300c', 'W') where position = 2;
update sessions set directory = '/srv/' || printf('%.300c', 'w') || '/<b>' || char(8238), agent_state = 'waiting',
    agent_question = '<script>alert(3)</script> May I use token=hunter2hunter2?' where identifier = 'chiara-4';
update sessions set recent_output = 'password=hunter2hunter2' || char(10) || '"><img src=x onerror=alert(4)>' || char(27) || '[31m', title = printf('%.300c', 'W')
    where identifier = 'ada-1';
