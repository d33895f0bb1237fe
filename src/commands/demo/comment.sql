(SELECT printf('**%s  %s**  (%s)%s%s', i.identifier, i.title, i.status, char(10, 10), c.body)
 FROM comments c JOIN issues i ON i.id = c.issue_id
 WHERE i.identifier = 'ACM-13')
