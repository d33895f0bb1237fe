// One prompt of each kind, from the libraries that node programs ask with: node prompts.mjs LIBRARY KIND
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , cache, library, kind] = process.argv;
const require = createRequire(cache + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const choices = ["npm", "yarn", "pnpm"];

const libraries = {
    async inquirer() {
        const ask = await load("@inquirer/prompts");
        const options = choices.map((name) => ({ name, value: name }));
        return {
            list: () => ask.select({ message: "Which package manager?", choices: options }),
            checkbox: () => ask.checkbox({ message: "Which features?", choices: options }),
            confirm: () => ask.confirm({ message: "Overwrite the existing files?", default: false }),
            password: () => ask.password({ message: "Enter your token:", mask: "*" }),
            input: () => ask.input({ message: "What is your project called?", default: "shop" }),
        };
    },
    async enquirer() {
        const { default: enquirer } = await load("enquirer");
        const ask = (type, message, more) => () => enquirer.prompt({ type, name: "answer", message, ...more });
        return {
            select: ask("select", "Pick a flavor", { choices }),
            confirm: ask("confirm", "Are you sure you want to deploy?"),
            password: ask("password", "Database password"),
            input: ask("input", "What is your username?", { initial: "ada" }),
        };
    },
    async clack() {
        const ask = await load("@clack/prompts");
        const options = choices.map((value) => ({ value, label: value }));
        return {
            select: () => ask.select({ message: "Pick a project type.", options }),
            multiselect: () => ask.multiselect({ message: "Select additional tools.", options }),
            confirm: () => ask.confirm({ message: "Install dependencies?" }),
            password: () => ask.password({ message: "Provide a password" }),
            text: () => ask.text({ message: "Where should we create your project?", placeholder: "./shop" }),
            spinner: () => (ask.spinner().start("Installing via npm"), new Promise((done) => setTimeout(done, 3600e3))),
        };
    },
};
await (await libraries[library]())[kind]();
