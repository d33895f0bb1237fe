//! Tenants, each with an agent of its own.

use std::ops::Range;

use sweep::rules::Id;

use crate::support::world::{On, World};

/// A tenant, with an agent of its own.
pub struct Tenant {
    pub name: String,
    pub agent: Id,
}

impl World {
    pub fn tenant(&mut self, name: &str) -> Tenant {
        if self.on != On::Paperclip {
            return Tenant { name: name.to_owned(), agent: self.agent("idle") };
        }
        let (company, agent) = (Id::generate(), Id::generate());
        self.run(&format!(
            "insert into companies (id, name, issue_prefix, default_responsible_user_id)
             values ('{company}', '{name}', '{}', 'user-1');
             insert into agents (id, company_id, name) values ('{agent}', '{company}', 'Mallory')",
            name.to_uppercase()
        ));
        Tenant { name: company.0, agent }
    }

    /// On Paperclip, begins another company, to which everything belongs from now on.
    pub fn begin_another_company(&mut self) -> Id {
        let tenant = self.tenant(&format!("B{}", &Id::generate().0[25..]));
        self.company = Id(tenant.name);
        self.company.clone()
    }

    pub fn colleague(&mut self, tenant: &Tenant) -> Id {
        match self.on {
            On::Paperclip => {
                let agent = Id::generate();
                self.run(&format!(
                    "insert into agents (id, company_id, name) values ('{agent}', '{}', 'Bob')",
                    tenant.name
                ));
                agent
            }
            On::Postgres | On::Sqlite => self.agent("idle"),
        }
    }

    /// Makes orphans of a tenant's own agent.
    pub fn orphans_of(&mut self, tenant: &Tenant, numbers: Range<u32>) -> Vec<Id> {
        let issues = self.orphans(&tenant.agent, numbers);
        if self.on != On::Paperclip {
            issues.iter().for_each(|issue| self.set("issues", issue, &format!("tenant = '{}'", tenant.name)));
        }
        issues
    }

    /// Makes issues of a tenant on which its agent is at work.
    pub fn at_work_of(&mut self, tenant: &Tenant, numbers: Range<u32>) {
        for issue in self.orphans_of(tenant, numbers) {
            let run = self.issue_run(&issue, &tenant.agent, "running", 5);
            if self.on == On::Paperclip {
                self.set("heartbeat_runs", &run, &format!("company_id = '{}'", tenant.name));
            }
        }
    }
}
