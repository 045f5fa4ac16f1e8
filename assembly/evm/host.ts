// The engine's imports from its host. Pointers are into linear memory; `address` is 20 bytes, `key` and `salt` 32 bytes
// big-endian, `value` a word (four limbs, least significant first).

/** Fills a record from the world: flags, balance, code hash. */
@external('host', 'loadAccount')
export declare function loadAccount(record: usize): void

/** Returns the entry of the account's code, which the host makes by `newCode` if the code hash is new to it. */
@external('host', 'loadCode')
export declare function loadCode(record: usize): usize

/** Tells the host to forget an entry, which the engine frees. */
@external('host', 'forgetCode')
export declare function forgetCode(code: usize): void

/** Writes value and original value of a slot, two words; 1 when the slot is warm from the start. Here the key is a word too. */
@external('host', 'loadSlot')
export declare function loadSlot(address: usize, key: usize, out: usize): i32

/**
 * Returns whether the transaction's start made the account warm (access list, sender, coinbase …).
 * Reads nothing from the state.
 */
@external('host', 'isWarmAddress')
export declare function isWarmAddress(address: usize): i32

/** Returns whether the access list made the slot warm. Reads nothing from the state. */
@external('host', 'isWarmSlot')
export declare function isWarmSlot(address: usize, key: usize): i32

/** Writes `count` slots to the world. */
@external('host', 'storeSlots')
export declare function storeSlots(list: usize, count: u32): void

@external('host', 'checkpoint')
export declare function checkpoint(count: u32): void

@external('host', 'commit')
export declare function commit(): void

@external('host', 'revert')
export declare function revert(): void

@external('host', 'transfer')
export declare function transfer(from: usize, to: usize, value: usize): void

/** Writes what the account may spend of its balance, as a word. */
@external('host', 'loadSpendable')
export declare function loadSpendable(address: usize, out: usize): void

@external('host', 'touch')
export declare function touch(address: usize): void

@external('host', 'emitLog')
export declare function emitLog(address: usize, topics: usize, topicCount: u32, data: usize, length: u32): void

/** Writes the hash of a block as a word, zero when it is unknown. */
@external('host', 'blockHash')
export declare function blockHash(low: u32, high: u32, out: usize): void

/**
 * Raises the creator's nonce and writes the address of the new contract; with `salt` 0 that of
 * CREATE. Returns CREATE_… of the constants.
 */
@external('host', 'prepareCreate')
export declare function prepareCreate(creator: usize, salt: usize, initCode: usize, length: u32, out: usize): i32

/**
 * Writes the address that {@link prepareCreate} would write, without any effect: for tracers of
 * creations that do not begin.
 */
@external('host', 'creationAddress')
export declare function creationAddress(creator: usize, salt: usize, initCode: usize, length: u32, out: usize): void

@external('host', 'createAccount')
export declare function createAccount(address: usize, creator: usize, value: usize): void

@external('host', 'setCode')
export declare function setCode(address: usize, code: usize, length: u32): void

@external('host', 'selfDestruct')
export declare function selfDestruct(address: usize, beneficiary: usize): void

/** Returns the gas left after a success; -1 minus the gas left after a revert; the lowest i64 after a failure. */
@external('host', 'callPrecompile')
export declare function callPrecompile(
  record: usize,
  caller: usize,
  value: usize,
  input: usize,
  length: u32,
  gas: i64,
  flags: u32,
): i64

/**
 * Reports a step. `sp` points to the top word, `stack` to the lowest; an empty stack has `sp` one
 * word below `stack`.
 */
@external('host', 'traceStep')
export declare function traceStep(
  pc: u32,
  opcode: u32,
  gas: i64,
  cost: i64,
  depth: u32,
  refund: i64,
  stack: usize,
  sp: usize,
  memory: usize,
  memoryLength: u32,
  frame: usize,
  failure: u32,
  detail: u32,
  need: u32,
): void

/** Reports a new frame. `kind` is the opcode of the call; `value` is 0 for kinds without a value. */
@external('host', 'traceEnter')
export declare function traceEnter(
  depth: u32,
  kind: u32,
  from: usize,
  to: usize,
  input: usize,
  length: u32,
  gas: i64,
  value: usize,
  isPrecompile: u32,
): void

@external('host', 'traceExit')
export declare function traceExit(
  depth: u32,
  output: usize,
  length: u32,
  gasUsed: i64,
  status: u32,
  failure: u32,
  detail: u32,
  need: u32,
): void
