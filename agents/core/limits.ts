/** Every bound of the system in one place. Bytes are UTF-8 bytes. */
export const limits = {
  minCommittee: 4,
  maxCommittee: 64,
  /** Seats of all the committees together that a request's terms allow. */
  requestSeats: 160,
  maxAppeals: 3,
  /** Fewest appeals of a secured request. */
  minSecuredAppeals: 2,
  maxRetries: 3,
  /** Greatest confidence that a request may ask for, in percent. */
  maxFinality: 100,
  /** A decision slashes one seat at most this often. */
  maxSlashes: 3,
  /** Fewest blocks from a cancellation to the seed block. */
  cancelBlocks: 6,
  /** Gas that a callback may ask for. */
  callbackGas: 2_000_000,
  /** Shortest and longest period of a request. */
  minDurationSeconds: 1_800,
  maxDurationSeconds: 604_800,
  /** Longest wait of a request before its first committee. */
  maxDelaySeconds: 2_592_000,
  /** Decimals of a number. */
  decimals: 18,
  /** Options of a choice or of policies. */
  minOptions: 2,
  maxOptions: 26,
  /** The addresses that an agent announces, joined by commas. */
  endpointBytes: 512,
  questionBytes: 8192,
  /** All options that a prompt lists beside the question, as the prompt shows them. */
  optionsBytes: 2048,
  answerBytes: 1024,
  /** An answer of any kind but text. */
  shortAnswerBytes: 128,
  /** Why a seat has no answer, in its own words. */
  whyBytes: 160,
  proofBytes: 512,
  counterProofBytes: 512,
  /** All objections to the own answer in a revision prompt, as the prompt shows them. */
  objectionsBytes: 2048,
  /** All texts of peers in a prompt that is asked again because a longer one did not fit into the model's context. */
  briefBytes: 256,
  /** One encoded message block of a deliberation. */
  messageBytes: 65_536,
  /** One encoded certify message: a root block and the signatures of a certificate. */
  certifyMessageBytes: 278_528,
  /** The encoded root block of a transcript. */
  rootBytes: 262_144,
  /** Messages that a transcript may link. */
  messagesPerTranscript: 5120,
  /** Payloads of one seat kept per slot: two prove an equivocation, and further ones add nothing. */
  payloadsPerSlot: 2,
  /** Pairs of texts that a seat compares; further pairs count as different. */
  matchPairs: 64,
  /** Distinct answer classes verified per round; further classes are not verified. */
  classesPerRound: 8,
  /** Counter-proofs adjudicated per round; further counter-proofs are dismissed. */
  counterProofsPerRound: 32,
  /** Sources that a question may name. */
  sources: 4,
  /** One document. */
  documentBytes: 256_000,
  /** What a prompt shows of all sources together, then the ever shorter forms that follow where it does not fit a model. */
  shownSourceBytes: [15_360, 3_840, 960, 240],
  /** A passage of a source. */
  passageBytes: 1024,
  /** Passages of all sources that a seat names: their digests fit into one message. */
  passages: 1_600,
  /** The text that names a source. */
  sourceNameBytes: 1024,
  /** The words of a search. */
  searchBytes: 256,
  /** Reference tokens of a JSON pointer. */
  pointerTokens: 32,
  /** Arguments of a call that a source names, and values that it returns. */
  callValues: 8,
  /** The text of a snapshot. */
  snapshotTextBytes: 262_144,
  /** The title of a snapshot. */
  snapshotTitleBytes: 512,
  /** The address at which a snapshot was read. */
  snapshotUrlBytes: 2048,
  /** The media type of a snapshot, and the name and version of its extractor. */
  snapshotWordBytes: 128,
  /** CL2: how often a seat of clo asks its model for an answer in a round. */
  samples: 3,
  /** A quotation of a source. */
  quotationBytes: 512,
  /** Deliberation rounds R, the first included. */
  deliberationRounds: 3,
  /** CE10: ballots of one certification. */
  certifyBallots: 64,
  /** Unverified or early frames buffered per peer. */
  bufferedFramesPerPeer: 256,
  modelOutputTokens: 512,
} as const;
