//! A collection of 1,000 skills and 200 questions to it, for measuring how well skills are found.
//!
//! Every skill is about one subject and one kind of work on it, as in real collections: a question has to hit both. Questions
//! were written by hand for each subject and each kind of work, in the words of somebody who has not read the descriptions; some
//! of their words are in these, others are not. A fifth of the skills is in Chinese, and so are the questions to them.

/// A skill of the collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleSkill {
    /// Its name, unique in the collection.
    pub name: String,
    /// Its description.
    pub description: String,
}

impl SampleSkill {
    /// The text of its `SKILL.md`, with a body of some length.
    pub fn text(&self) -> String {
        let SampleSkill { name, description } = self;
        let steps = "1. Look at what is there.\n2. Do one step.\n3. Check it.\n".repeat(30);
        format!(
            "---\nname: {name}\ndescription: {description:?}\nlicense: MIT\n---\n# Steps\n\n{steps}\n# Notes\n\nNone.\n"
        )
    }
}

/// A question, and the one skill that answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleQuestion {
    /// What somebody asks.
    pub asked: String,
    /// The name of the skill.
    pub skill: String,
}

struct Subject {
    slug: &'static str,
    described: &'static str,
    asked: &'static str,
}

struct Work {
    slug: &'static str,
    /// With `{s}` for the subject.
    described: &'static str,
    asked: [&'static str; 2],
}

const fn subject(slug: &'static str, described: &'static str, asked: &'static str) -> Subject {
    Subject { slug, described, asked }
}

const fn work(slug: &'static str, described: &'static str, asked: [&'static str; 2]) -> Work {
    Work { slug, described, asked }
}

/// 800 skills and 160 questions in English, 200 and 40 in Chinese.
pub fn sample_skills() -> (Vec<SampleSkill>, Vec<SampleQuestion>) {
    let (mut skills, mut questions) = combine(&SUBJECTS, &WORKS, 160);
    let chinese = combine(&CHINESE_SUBJECTS, &CHINESE_WORKS, 40);
    skills.extend(chinese.0);
    questions.extend(chinese.1);
    (skills, questions)
}

fn combine(subjects: &[Subject], works: &[Work], questions: usize) -> (Vec<SampleSkill>, Vec<SampleQuestion>) {
    let name = |subject: &Subject, work: &Work| format!("{}-{}", subject.slug, work.slug);
    let skills = subjects.iter().flat_map(|subject| {
        let of = move |work: &Work| SampleSkill {
            name: name(subject, work),
            description: work.described.replace("{s}", subject.described),
        };
        works.iter().map(of)
    });
    // Every pair at most once, and every subject and work about equally often.
    let pairs = (0..questions).filter_map(|number| {
        let round = number / subjects.len();
        let subject = subjects.get(number % subjects.len())?;
        let work = works.get((number * 7 + round * 3) % works.len())?;
        let asked = work.asked.get((number / 3 + round) % 2)?.replace("{q}", subject.asked);
        Some(SampleQuestion { asked, skill: name(subject, work) })
    });
    (skills.collect(), pairs.collect())
}

const WORKS: [Work; 20] = [
    work(
        "migrate",
        "Plans and writes migrations of {s} so that each step can be rolled back. Use it to change a structure, to move data, or to upgrade to a new version.",
        [
            "I have to upgrade {q} to the next major version and must not break anything",
            "move what we have over into {q}, with a way back",
        ],
    ),
    work(
        "test",
        "Writes automated tests for {s}, with fixtures and mocks. Use it when coverage is missing or a bug must not come back.",
        ["nothing covers {q} yet, could you add tests", "write a test around {q} so this bug stays away"],
    ),
    work(
        "debug",
        "Finds the cause of errors and crashes in {s} from logs and stack traces. Use it when something fails and nobody knows why.",
        ["{q} crashes every night, find out why", "I get an error from {q} and the stack trace tells me nothing"],
    ),
    work(
        "deploy",
        "Deploys {s} to production with health checks and a rollback. Use it for releases, blue-green and canary rollouts.",
        [
            "put the new release of {q} into production tonight",
            "how can we roll out {q} to a few users first, as a canary",
        ],
    ),
    work(
        "monitor",
        "Sets up metrics, dashboards and alerts for {s}. Use it to watch latency, error rates and saturation.",
        ["alert me as soon as the latency of {q} goes up", "a dashboard that shows what is happening in {q}"],
    ),
    work(
        "secure",
        "Reviews the security of {s}: who has access, leaked secrets, known vulnerabilities. Use it before an audit or after an incident.",
        ["is {q} vulnerable to anything known?", "the auditors want to know who can access {q}"],
    ),
    work(
        "backup",
        "Backs up {s} and restores them, and proves that the restore works. Use it for disaster recovery and retention.",
        ["somebody deleted {q}, restore it from last night", "set up a nightly backup of {q}"],
    ),
    work(
        "document",
        "Writes reference documentation and guides for {s}. Use it when users or new colleagues need an explanation.",
        ["the documentation of {q} is years out of date", "write a guide to {q} for new colleagues"],
    ),
    work(
        "optimise",
        "Profiles {s} and makes them faster and cheaper. Use it when something is slow or the bill is too high.",
        ["why is {q} so slow, and what would make it faster", "our bill for {q} has doubled, make it cheaper"],
    ),
    work(
        "review",
        "Reviews changes to {s} for correctness, style and risk. Use it on pull requests and merge requests.",
        ["could you look at my pull request about {q}", "review the changes that I made to {q}"],
    ),
    work(
        "automate",
        "Automates recurring work around {s} with scripts and schedules. Use it for chores that come back every day or week.",
        ["I do the same chore with {q} every Monday, let a script do it", "schedule a weekly job for {q}"],
    ),
    work(
        "translate",
        "Translates the texts of {s} and keeps the terminology consistent. Use it for localisation into other languages.",
        ["we need {q} in French and German, please translate", "localise {q} for the Spanish market"],
    ),
    work(
        "report",
        "Summarises {s} in a short report with figures for management. Use it for weekly and quarterly reporting.",
        ["my manager wants a weekly report on {q}", "summarise {q} in one page with the key figures"],
    ),
    work(
        "convert",
        "Converts {s} from and to other formats such as CSV, JSON and XML. Use it for imports and exports.",
        ["export {q} as CSV", "I have a JSON dump and need it converted into {q}"],
    ),
    work(
        "extract",
        "Extracts facts, tables and names from {s} into structured records. Use it when data is buried in text.",
        ["pull all tables out of {q}", "extract the names and amounts from {q}"],
    ),
    work(
        "design",
        "Designs the structure and layout of {s} before work begins. Use it for proposals, sketches and prototypes.",
        ["make a proposal for how {q} should be structured", "sketch a first prototype of {q}"],
    ),
    work(
        "teach",
        "Prepares training material, workshops and exercises on {s}. Use it when a team has to learn something.",
        ["prepare a workshop on {q} for our beginners", "exercises so that the team learns to handle {q}"],
    ),
    work(
        "clean",
        "Cleans up {s}: removes duplicates, dead parts and inconsistent names. Use it when things have grown for years.",
        ["there are duplicates all over {q}, remove them", "half of {q} is dead, clean it up"],
    ),
    work(
        "compare",
        "Compares versions and variants of {s} and explains the differences. Use it to see what has changed.",
        ["what is different in {q} between these two versions", "compare two variants of {q} for me"],
    ),
    work(
        "estimate",
        "Estimates the effort, cost and risk of work on {s}. Use it before anything is promised to a customer.",
        ["how much effort would a change of {q} be", "estimate what it would cost us to rework {q}"],
    ),
];

const SUBJECTS: [Subject; 40] = [
    subject("postgres", "PostgreSQL databases", "our Postgres database"),
    subject("kubernetes", "Kubernetes clusters and their manifests", "the Kubernetes cluster"),
    subject("react", "React components", "the React frontend"),
    subject("pdf", "PDF documents", "this PDF"),
    subject("spreadsheet", "spreadsheets (Excel, xlsx)", "the xlsx file from accounting"),
    subject("slides", "slide decks and presentations (PowerPoint)", "the PowerPoint for Thursday"),
    subject("invoice", "invoices", "a supplier's invoices"),
    subject("contract", "contracts and terms of service", "the contract with our landlord"),
    subject("email", "e-mails and newsletters", "the customer newsletter"),
    subject("terraform", "Terraform modules and state", "our Terraform code"),
    subject("docker", "Docker images and containers", "the Docker image"),
    subject("rest-api", "REST APIs described by OpenAPI", "the public REST API"),
    subject("graphql", "GraphQL schemas and resolvers", "our GraphQL schema"),
    subject("redis", "Redis caches", "the Redis cache"),
    subject("kafka", "Kafka topics and consumers", "a Kafka consumer"),
    subject("ios", "iOS apps written in Swift", "the Swift app for the iPhone"),
    subject("android", "Android apps written in Kotlin", "our Android app"),
    subject("css", "style sheets (CSS, Tailwind)", "the Tailwind styles"),
    subject("rust", "Rust crates", "a Rust crate"),
    subject("python", "Python packages", "a Python package"),
    subject("java", "Java services on Spring Boot", "the Spring Boot service"),
    subject("wordpress", "WordPress sites and plugins", "my WordPress blog"),
    subject("shopify", "Shopify shops", "our Shopify shop"),
    subject("salesforce", "Salesforce objects and flows", "the flows in Salesforce"),
    subject("jira", "Jira issues and boards", "the Jira board"),
    subject("git", "Git repositories and their history", "the git history"),
    subject("pipeline", "continuous integration pipelines (GitHub Actions)", "the GitHub Actions pipeline"),
    subject("etl", "data pipelines in Airflow and dbt", "the dbt models"),
    subject("model", "machine learning models", "the churn prediction model"),
    subject("notebook", "Jupyter notebooks", "this Jupyter notebook"),
    subject("survey", "surveys and questionnaires", "the answers to the employee survey"),
    subject("recipe", "recipes and meal plans", "grandmother's recipes"),
    subject("travel", "travel itineraries", "the itinerary for Japan"),
    subject("fitness", "workout and training plans", "my workout plan"),
    subject("legal", "patents and trademark filings", "the patent application"),
    subject("podcast", "podcast episodes and transcripts", "last week's podcast episode"),
    subject("photo", "photos and image files", "the holiday photos"),
    subject("video", "videos and subtitles", "the video with subtitles"),
    subject("map", "maps and geographic data (GeoJSON)", "the GeoJSON of our stores"),
    subject("cv", "job applications and CVs", "my CV"),
];

const CHINESE_WORKS: [Work; 20] = [
    work(
        "migrate",
        "为{s}规划并编写迁移方案，每一步都可以回滚。升级版本、搬迁数据或调整结构时使用。",
        ["要把{q}升级到新版本，出问题还能退回去", "旧系统里的内容要搬迁到{q}"],
    ),
    work(
        "test",
        "为{s}编写自动化测试。覆盖率不足或需要防止错误再次出现时使用。",
        ["{q}还没有任何测试，帮我补上", "给{q}写个测试，别让这个错误再出现"],
    ),
    work(
        "debug",
        "根据日志和堆栈定位{s}的报错和崩溃原因。出现故障又不知道原因时使用。",
        ["{q}昨天晚上崩溃了，查一下原因", "打开{q}就报错，看不懂日志"],
    ),
    work(
        "deploy",
        "把{s}发布到生产环境，带健康检查和回滚。用于上线、灰度和蓝绿发布。",
        ["今晚要把{q}发布上线", "{q}想先灰度给一部分用户"],
    ),
    work(
        "monitor",
        "为{s}建立指标、看板和告警。用于观察延迟和错误率。",
        ["{q}一变慢就给我告警", "做一个看板，能看到{q}的指标"],
    ),
    work(
        "secure",
        "审查{s}的安全：访问权限、泄露的密钥、已知漏洞。审计之前或事故之后使用。",
        ["{q}有没有已知漏洞", "审计要看谁有{q}的访问权限"],
    ),
    work("backup", "备份和恢复{s}，并验证恢复可用。用于灾难恢复。", ["{q}被误删了，怎么恢复", "每天夜里自动备份{q}"]),
    work(
        "document",
        "为{s}编写参考文档和使用指南。用户或新同事需要说明时使用。",
        ["{q}的文档早就过时了", "写一份{q}的指南给新同事"],
    ),
    work(
        "optimise",
        "分析{s}的性能，让它更快、成本更低。速度慢或费用高时使用。",
        ["{q}实在太慢了，怎么优化性能", "{q}的费用太高，想降低成本"],
    ),
    work(
        "review",
        "审阅对{s}的修改，检查正确性、风格和风险。用于合并请求。",
        ["帮我审阅一下我对{q}的修改", "这个合并请求改了{q}，看看有没有风险"],
    ),
    work(
        "automate",
        "用脚本和定时任务自动完成{s}的重复工作。用于每天每周都要做的事。",
        ["每周一都要手工处理{q}，写个脚本自动做", "给{q}加一个定时任务"],
    ),
    work(
        "translate",
        "翻译{s}中的文字并统一术语。用于多语言本地化。",
        ["{q}要翻译成英文和法文", "{q}要做西班牙语的本地化"],
    ),
    work(
        "report",
        "把{s}汇总成给管理层看的简短报告。用于周报和季报。",
        ["领导要一份{q}的周报", "把{q}汇总成一页纸的报告"],
    ),
    work(
        "convert",
        "在{s}与 CSV、JSON、XML 等格式之间转换。用于导入和导出。",
        ["把{q}导出成 CSV", "这个 JSON 要转换成{q}"],
    ),
    work(
        "extract",
        "从{s}中提取表格、事实和名称，形成结构化记录。数据埋在文字里时使用。",
        ["把{q}里的表格都提取出来", "从{q}中提取名称和金额"],
    ),
    work(
        "design",
        "在开工之前设计{s}的结构和版式。用于提案、草图和原型。",
        ["{q}应该怎么设计结构，先出个提案", "画一个{q}的原型草图"],
    ),
    work(
        "teach",
        "准备关于{s}的培训材料、讲座和练习。团队需要学习时使用。",
        ["给新人做一次{q}的培训", "准备一些{q}的练习题"],
    ),
    work(
        "clean",
        "清理{s}：去掉重复项、废弃部分和不一致的命名。积累多年后使用。",
        ["{q}里到处是重复的，清理一下", "{q}有一半已经废弃，去掉吧"],
    ),
    work("compare", "比较{s}的不同版本并说明差异。用于查看改了什么。", ["{q}这两个版本有什么差异", "比较一下两份{q}"]),
    work(
        "estimate",
        "估算{s}相关工作的工作量、成本和风险。向客户承诺之前使用。",
        ["改一次{q}要多少工作量", "估算一下重做{q}的成本"],
    ),
];

const CHINESE_SUBJECTS: [Subject; 10] = [
    subject("cn-hetong", "合同与协议", "房东发来的合同"),
    subject("cn-fapiao", "发票和报销单", "供应商的发票"),
    subject("cn-jianli", "简历和求职信", "应聘者的简历"),
    subject("cn-shujuku", "数据库", "订单数据库"),
    subject("cn-xiaochengxu", "微信小程序", "我们的小程序"),
    subject("cn-gongzhonghao", "公众号文章", "公众号上的文章"),
    subject("cn-biaoge", "电子表格", "财务的表格"),
    subject("cn-lunwen", "学术论文", "这篇论文"),
    subject("cn-kecheng", "课程和教案", "三年级的教案"),
    subject("cn-dianshang", "电商店铺和商品", "网店的商品"),
];
