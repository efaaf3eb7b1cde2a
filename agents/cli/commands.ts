import type { CommandEntry } from "./shared/command.ts";

/** What people want to do: a heading of the help. */
export type Topic = "Try" | "Ask" | "Read and prove" | "Operate an agent" | "Stake" | "Keep transcripts";

/** Commands that are called by two words, e.g. `conclave agent run`. */
export interface CommandGroup {
  readonly name: string;
  readonly topic: Topic;
  readonly summary: string;
  readonly commands: readonly CommandEntry[];
}

/** A command that is called by one word. */
export interface TopCommand extends CommandEntry {
  readonly topic: Topic;
}

/** Every command, in the order of the help. */
export const commands: readonly (CommandGroup | TopCommand)[] = [
  {
    name: "account",
    topic: "Ask",
    summary: "accounts that ask and pay",
    commands: [
      {
        name: "new",
        summary: "make an account: an encrypted key in a keystore file",
        load: async () => (await import("./account/new.ts")).accountNew,
      },
      {
        name: "fund [account]",
        summary: "give an account coins and test tokens; on a local chain only",
        load: async () => (await import("./account/fund.ts")).accountFund,
      },
    ],
  },
  {
    name: "request",
    topic: "Ask",
    summary: "ask a question; an account or a subscription pays the fee now",
    load: async () => (await import("./request/request.ts")).request,
  },
  {
    name: "cancel <id>",
    topic: "Ask",
    summary: "take a request back and get its whole fee; possible for a few blocks, until its committee can be known",
    load: async () => (await import("./cancel/cancel.ts")).cancel,
  },
  {
    name: "appeal <id>",
    topic: "Ask",
    summary:
      "call a larger committee against a decision; the bond pays for it, and comes back if the decision is overturned",
    load: async () => (await import("./appeal/appeal.ts")).appeal,
  },
  {
    name: "withdraw",
    topic: "Ask",
    summary:
      "withdraw what an account is owed: refunded fees, returned bonds and pay from the oracle, rewards for evidence and appeals from the registry",
    load: async () => (await import("./withdraw/withdraw.ts")).withdraw,
  },
  {
    name: "subscription",
    topic: "Ask",
    summary: "prepaid balances that consumers ask from",
    commands: [
      {
        name: "create",
        summary: "open a prepaid balance that this account owns and that the consumers it allows ask from",
        load: async () => (await import("./subscription/create.ts")).subscriptionCreate,
      },
      {
        name: "fund <id>",
        summary: "pay into any subscription",
        load: async () => (await import("./subscription/fund.ts")).subscriptionFund,
      },
      {
        name: "withdraw <id>",
        summary: "take unspent funds out of a subscription of this account",
        load: async () => (await import("./subscription/withdraw.ts")).subscriptionWithdraw,
      },
      {
        name: "consumer <id>",
        summary: "set how much a contract or an account may spend from a subscription of this account",
        load: async () => (await import("./subscription/consumer.ts")).subscriptionConsumer,
      },
      {
        name: "transfer <id>",
        summary: "offer a subscription of this account to another account, which owns it once it accepts",
        load: async () => (await import("./subscription/transfer.ts")).subscriptionTransfer,
      },
      {
        name: "accept <id>",
        summary: "take over a subscription that was offered to this account, with all that it holds",
        load: async () => (await import("./subscription/accept.ts")).subscriptionAccept,
      },
      {
        name: "show <id>",
        summary:
          "show who owns a subscription or is offered it, what it holds, and how much a consumer may still spend of it",
        load: async () => (await import("./subscription/show.ts")).subscriptionShow,
      },
    ],
  },
  {
    name: "protocols",
    topic: "Ask",
    summary: "list the protocols that a question can name, and what a certificate of each is worth",
    load: async () => (await import("./protocols/protocols.ts")).listProtocols,
  },
  {
    name: "slash-overturned <id>",
    topic: "Ask",
    summary: "take stake from the seats that signed a secured decision which two larger committees overturned",
    load: async () => (await import("./slash-overturned/slash-overturned.ts")).slashOverturned,
  },
  {
    name: "decision <id>",
    topic: "Read and prove",
    summary: "show a request and its decision, from the chain",
    load: async () => (await import("./decision/decision.ts")).decision,
  },
  {
    name: "outcome <id>",
    topic: "Read and prove",
    summary: "prove a final request's outcome by the settlement contract; --store lets contracts read it by its id",
    load: async () => (await import("./outcome/outcome.ts")).outcome,
  },
  {
    name: "verify [id]",
    topic: "Read and prove",
    summary:
      "prove one decision, a range, or all since a block: hashes, signatures, replay; needs no model and trusts no agent",
    load: async () => (await import("./verify/verify.ts")).verify,
  },
  {
    name: "transcript <id>",
    topic: "Read and prove",
    summary: "read a deliberation: who said what, the votes, the counter-proofs, why it ended; verifies it first",
    load: async () => (await import("./transcript/transcript.ts")).transcript,
  },
  {
    name: "history",
    topic: "Read and prove",
    summary:
      "list requests and their decisions, the newest first, from a subgraph, or from the events of the last blocks",
    load: async () => (await import("./history/history.ts")).history,
  },
  {
    name: "stats",
    topic: "Read and prove",
    summary: "sum up requests, decisions and money from a subgraph: in all, by protocol and by day",
    load: async () => (await import("./history/stats.ts")).stats,
  },
  {
    name: "agent",
    topic: "Operate an agent",
    summary: "run an agent: a node that sits on committees",
    commands: [
      {
        name: "init",
        summary: "make an agent's folder: an encrypted key and a config file",
        load: async () => (await import("./agent/init.ts")).agentInit,
      },
      {
        name: "schema",
        summary: "print the JSON Schema of an agent's config file, for editors",
        load: async () => (await import("./agent/schema.ts")).agentSchema,
      },
      {
        name: "register",
        summary: "register the agent on the chain and stake for it",
        load: async () => (await import("./agent/register.ts")).agentRegister,
      },
      {
        name: "run",
        summary: "run the agent until Ctrl-C; logs go to stderr as JSON lines",
        load: async () => (await import("./agent/run.ts")).agentRun,
      },
      {
        name: "status",
        summary: "show the agent as the chain knows it; needs no password",
        load: async () => (await import("./agent/status.ts")).agentStatus,
      },
      {
        name: "show <id>",
        isDefault: true,
        summary: "show any agent's record from a subgraph: seats, decisions, reputation, earnings, slashes",
        load: async () => (await import("./agent/show.ts")).agentShow,
      },
      {
        name: "stake <amount>",
        summary: "add stake of the operator to the agent",
        load: async () => (await import("./agent/stake.ts")).agentStake,
      },
      {
        name: "unstake",
        summary: "begin to take stake back; it is free after the unbonding delay",
        load: async () => (await import("./agent/unstake.ts")).agentUnstake,
      },
      {
        name: "withdraw",
        summary: "withdraw unbonded stake after the delay",
        load: async () => (await import("./agent/withdraw.ts")).agentWithdraw,
      },
      {
        name: "claim",
        summary: "settle all requests the agent sat for, then pay out the operator's rewards and credit",
        load: async () => (await import("./agent/claim.ts")).agentClaim,
      },
      {
        name: "commission",
        summary: "lower the operator's commission at once, or announce a higher one and let it take effect later",
        load: async () => (await import("./agent/commission.ts")).agentCommission,
      },
      {
        name: "model",
        summary: "compare the configured model with the registered one, or register it",
        load: async () => (await import("./agent/model.ts")).agentModel,
      },
      {
        name: "rotate",
        summary: "replace the signer by a new key; the old keystore stays in the folder under another name",
        load: async () => (await import("./agent/rotate.ts")).agentRotate,
      },
      {
        name: "hand-over",
        summary: "offer the agent to another account, which becomes its operator once it takes over",
        load: async () => (await import("./agent/hand-over.ts")).agentHandOver,
      },
      {
        name: "take-over <agentId>",
        summary:
          "become the operator of an agent that was offered to this account, with minStake of its own bonded to it",
        load: async () => (await import("./agent/take-over.ts")).agentTakeOver,
      },
    ],
  },
  {
    name: "model",
    topic: "Operate an agent",
    summary: "model files: GGUF files for the model that an agent embeds",
    commands: [
      {
        name: "pull <reference>",
        summary: "download a GGUF file: hf:OWNER/MODEL:QUANTIZATION, hf:OWNER/MODEL/FILE.gguf, or an https URL",
        load: async () => (await import("./model/pull.ts")).modelPull,
      },
      {
        name: "list",
        summary: "list the model files that are here, with size, digest, context, and whether they can be asked",
        load: async () => (await import("./model/list.ts")).modelList,
      },
      {
        name: "check <file>",
        summary: "load a GGUF file, or a model of the list, and ask it one question of each answer kind",
        load: async () => (await import("./model/check.ts")).modelCheck,
      },
    ],
  },
  {
    name: "source",
    topic: "Operate an agent",
    summary: "what an agent reads at a source that a question names",
    commands: [
      {
        name: "read <source>",
        summary:
          "read a document, a page, a value of a JSON API or a contract's call, and show the text that an agent would read; a model sees the parts that fit its prompt",
        load: async () => (await import("./source/read.ts")).sourceRead,
      },
    ],
  },
  {
    name: "evidence",
    topic: "Operate an agent",
    summary: "proofs that a seat signed two messages for one slot, or two decisions in one ballot",
    commands: [
      {
        name: "list",
        summary:
          "show the agents that signed two messages for one slot, or two decisions in one ballot, as this agent saw it; needs no password",
        load: async () => (await import("./evidence/list.ts")).evidenceList,
      },
      {
        name: "submit",
        summary:
          "submit the proofs that the agent keeps and the chain does not know yet; the agent's key pays the gas and gets the reward",
        load: async () => (await import("./evidence/submit.ts")).evidenceSubmit,
      },
      {
        name: "claim",
        summary: "withdraw the rewards for evidence that the agent submitted",
        load: async () => (await import("./evidence/claim.ts")).evidenceClaim,
      },
    ],
  },
  {
    name: "doctor",
    topic: "Operate an agent",
    summary: "check a deployment, and an agent's config with its model if there is one; sends no transaction",
    load: async () => (await import("./doctor/doctor.ts")).doctor,
  },
  {
    name: "calibrate",
    topic: "Operate an agent",
    summary:
      "measure how often a model is right at each confidence, and write a table that turns confidences into tiers",
    load: async () => (await import("./calibrate/calibrate.ts")).calibrate,
  },
  {
    name: "delegate <agentId> <amount>",
    topic: "Stake",
    summary: "stake tokens for somebody's agent, and share in its pay and its slashes",
    load: async () => (await import("./delegation/delegate.ts")).delegate,
  },
  {
    name: "undelegate <agentId> [shares]",
    topic: "Stake",
    summary: "begin to take delegated stake back; --withdraw takes out what is free after the unbonding delay",
    load: async () => (await import("./delegation/undelegate.ts")).undelegate,
  },
  {
    name: "delegations",
    topic: "Stake",
    summary:
      "show what an account has staked for agents and earned with them; --earn lets stake earn once it has joined, --claim pays rewards out",
    load: async () => (await import("./delegation/delegations.ts")).delegations,
  },
  {
    name: "pin [what]",
    topic: "Keep transcripts",
    summary: "fetch, check and keep a transcript, named by its CID or its request; `conclave serve` serves it",
    load: async () => (await import("./pin/pin.ts")).pin,
  },
  {
    name: "unpin <cid>",
    topic: "Keep transcripts",
    summary: "remove a pin of `conclave pin`; pins of seats and other programs stay",
    load: async () => (await import("./pin/unpin.ts")).unpin,
  },
  {
    name: "gc",
    topic: "Keep transcripts",
    summary:
      "remove old transcripts: their requests are settled, no evidence is open, and the retention time is over; needs no password",
    load: async () => (await import("./pin/gc.ts")).gc,
  },
  {
    name: "pinning",
    topic: "Keep transcripts",
    summary: "transcripts at pinning services; `pin --service` asks for them",
    commands: [
      {
        name: "list <service>",
        summary: "list what a pinning service keeps for you, the newest first",
        load: async () => (await import("./pin/pinning-list.ts")).pinningList,
      },
      {
        name: "remove <service> <cid>",
        summary: "tell a pinning service that it need not keep a transcript any more",
        load: async () => (await import("./pin/pinning-remove.ts")).pinningRemove,
      },
    ],
  },
  {
    name: "serve",
    topic: "Keep transcripts",
    summary: "serve pinned transcripts over a read-only trustless gateway (raw blocks and CARs), until Ctrl-C",
    load: async () => (await import("./pin/serve.ts")).serve,
  },
];
