// Numbers that the engine and its host share. Plain constants: AssemblyScript and Node.js both read this file.

// How a run or a frame ended.
export const SUCCESS = 0
export const REVERTED = 1
export const FAILED = 2

// Why a frame failed.
export const NO_FAILURE = 0
export const OUT_OF_GAS = 1
export const STACK_UNDERFLOW = 2
export const STACK_OVERFLOW = 3
export const INVALID_OPCODE = 4
export const INVALID_JUMP = 5
export const WRITE_PROTECTION = 6
export const RETURN_DATA_OUT_OF_BOUNDS = 7
export const GAS_OVERFLOW = 8
export const CALL_DEPTH = 9
export const INSUFFICIENT_BALANCE = 10
export const ADDRESS_COLLISION = 11
export const NONCE_OVERFLOW = 12
export const CODE_STORE_OUT_OF_GAS = 13
export const CODE_SIZE = 14
export const INIT_CODE_SIZE = 15
export const INVALID_CODE = 16
/** The words are the precompile's own: the host keeps them. */
export const PRECOMPILE_FAILED = 17

// Forks that change what the engine does.
export const FORK_CANCUN = 0
export const FORK_PRAGUE = 1
export const FORK_OSAKA = 2

// What `run` answers.
export const RUN_DONE = 0
export const RUN_PAUSED = 1

// Flags of `start`.
export const START_CREATION = 1

// Trace flags of the environment.
export const TRACE_STEPS = 1
export const TRACE_FRAMES = 2

// Loops that tests can force.
export const LOOP_AUTOMATIC = 0
export const LOOP_PLAIN = 1
export const LOOP_BLOCKS = 2

// Flags of an account record.
export const ACCOUNT_EXISTS = 1
export const ACCOUNT_EMPTY = 2
export const ACCOUNT_WARM = 4
export const ACCOUNT_HAS_CODE = 8
export const ACCOUNT_STANDARD_PRECOMPILE = 16
export const ACCOUNT_STATEFUL_PRECOMPILE = 32

// Flags of a call of a precompile.
export const CALL_STATIC = 1
export const CALL_DELEGATED = 2

// Answers of `prepareCreate`.
export const CREATE_FINE = 0
export const CREATE_NONCE_OVERFLOW = 1
export const CREATE_COLLISION = 2

// Offsets in the environment.
export const ENV_ORIGIN = 0
export const ENV_GAS_PRICE = 32
export const ENV_COINBASE = 64
export const ENV_TIMESTAMP = 96
export const ENV_NUMBER = 128
export const ENV_PREV_RANDAO = 160
export const ENV_GAS_LIMIT = 192
export const ENV_CHAIN_ID = 224
export const ENV_BASE_FEE = 256
export const ENV_BLOB_BASE_FEE = 288
export const ENV_FORK = 320
export const ENV_TRACE = 324
export const ENV_BLOB_HASH_COUNT = 328
export const ENV_BLOB_HASHES = 332
export const ENV_HASH_SEED = 336
export const ENV_LOOP = 344
export const ENV_REFUND_BEFORE = 352
export const ENV_LENGTH = 384

// Offsets in the message.
export const MESSAGE_CALLER = 0
export const MESSAGE_RECIPIENT = 32
export const MESSAGE_VALUE = 64
export const MESSAGE_LENGTH = 96

// Offsets in the result.
export const RESULT_STATUS = 0
export const RESULT_FAILURE = 4
export const RESULT_GAS = 8
export const RESULT_REFUND = 16
export const RESULT_OUTPUT = 24
export const RESULT_OUTPUT_LENGTH = 28
/** of stack failures the height, of an invalid opcode the opcode */
export const RESULT_DETAIL = 32
/** of stack failures the items that the opcode takes */
export const RESULT_NEED = 36
export const RESULT_LENGTH = 64

// Offsets in an account record that the host writes.
export const RECORD_ADDRESS = 0
export const RECORD_FLAGS = 20
export const RECORD_BALANCE = 32
export const RECORD_CODE_HASH = 64

// Offsets in a code entry that the host reads.
export const CODE_BYTES = 0
export const CODE_LENGTH = 4

/** Bytes of one entry of `storeSlots`: address (32 bytes of room), key, value. */
export const STORE_ENTRY = 96

// Offsets in a frame that the host reads while a step is traced.
export const FRAME_ADDRESS = 0
export const FRAME_CALLER = 32
export const FRAME_RETURN_DATA = 64
export const FRAME_RETURN_DATA_LENGTH = 68
