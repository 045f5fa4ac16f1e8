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
/** The message is the precompile's own: the host keeps it. */
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
/** the run is dropped, and never resumed, as soon as it has used its first slice of work (see bounds.ts) */
export const START_BOUNDED = 2
/**
 * the world's slots and logs are not read after the run: logs are not emitted, and slots that are
 * dirty at the end not stored
 */
export const START_DISCARDED = 4

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
/** A stateful precompile that does nothing in a call without value. */
export const ACCOUNT_IDLE_PRECOMPILE = 64

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
export const ENV_HAS_VESTING = 360
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
/** of a stateful precompile: a call with less gas fails */
export const RECORD_LEAST_GAS = 112

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

// The opcodes (yellow paper, appendix H, and the EIPs up to Osaka).
export const OP_STOP = 0x00
export const OP_ADD = 0x01
export const OP_MUL = 0x02
export const OP_SUB = 0x03
export const OP_DIV = 0x04
export const OP_SDIV = 0x05
export const OP_MOD = 0x06
export const OP_SMOD = 0x07
export const OP_ADDMOD = 0x08
export const OP_MULMOD = 0x09
export const OP_EXP = 0x0a
export const OP_SIGNEXTEND = 0x0b
export const OP_LT = 0x10
export const OP_GT = 0x11
export const OP_SLT = 0x12
export const OP_SGT = 0x13
export const OP_EQ = 0x14
export const OP_ISZERO = 0x15
export const OP_AND = 0x16
export const OP_OR = 0x17
export const OP_XOR = 0x18
export const OP_NOT = 0x19
export const OP_BYTE = 0x1a
export const OP_SHL = 0x1b
export const OP_SHR = 0x1c
export const OP_SAR = 0x1d
export const OP_CLZ = 0x1e
export const OP_KECCAK256 = 0x20
export const OP_ADDRESS = 0x30
export const OP_BALANCE = 0x31
export const OP_ORIGIN = 0x32
export const OP_CALLER = 0x33
export const OP_CALLVALUE = 0x34
export const OP_CALLDATALOAD = 0x35
export const OP_CALLDATASIZE = 0x36
export const OP_CALLDATACOPY = 0x37
export const OP_CODESIZE = 0x38
export const OP_CODECOPY = 0x39
export const OP_GASPRICE = 0x3a
export const OP_EXTCODESIZE = 0x3b
export const OP_EXTCODECOPY = 0x3c
export const OP_RETURNDATASIZE = 0x3d
export const OP_RETURNDATACOPY = 0x3e
export const OP_EXTCODEHASH = 0x3f
export const OP_BLOCKHASH = 0x40
export const OP_COINBASE = 0x41
export const OP_TIMESTAMP = 0x42
export const OP_NUMBER = 0x43
export const OP_PREVRANDAO = 0x44
export const OP_GASLIMIT = 0x45
export const OP_CHAINID = 0x46
export const OP_SELFBALANCE = 0x47
export const OP_BASEFEE = 0x48
export const OP_BLOBHASH = 0x49
export const OP_BLOBBASEFEE = 0x4a
export const OP_POP = 0x50
export const OP_MLOAD = 0x51
export const OP_MSTORE = 0x52
export const OP_MSTORE8 = 0x53
export const OP_SLOAD = 0x54
export const OP_SSTORE = 0x55
export const OP_JUMP = 0x56
export const OP_JUMPI = 0x57
export const OP_PC = 0x58
export const OP_MSIZE = 0x59
export const OP_GAS = 0x5a
export const OP_JUMPDEST = 0x5b
export const OP_TLOAD = 0x5c
export const OP_TSTORE = 0x5d
export const OP_MCOPY = 0x5e
export const OP_PUSH0 = 0x5f
export const OP_PUSH1 = 0x60
export const OP_PUSH2 = 0x61
export const OP_PUSH3 = 0x62
export const OP_PUSH4 = 0x63
export const OP_PUSH5 = 0x64
export const OP_PUSH6 = 0x65
export const OP_PUSH7 = 0x66
export const OP_PUSH8 = 0x67
export const OP_PUSH9 = 0x68
export const OP_PUSH10 = 0x69
export const OP_PUSH11 = 0x6a
export const OP_PUSH12 = 0x6b
export const OP_PUSH13 = 0x6c
export const OP_PUSH14 = 0x6d
export const OP_PUSH15 = 0x6e
export const OP_PUSH16 = 0x6f
export const OP_PUSH17 = 0x70
export const OP_PUSH18 = 0x71
export const OP_PUSH19 = 0x72
export const OP_PUSH20 = 0x73
export const OP_PUSH21 = 0x74
export const OP_PUSH22 = 0x75
export const OP_PUSH23 = 0x76
export const OP_PUSH24 = 0x77
export const OP_PUSH25 = 0x78
export const OP_PUSH26 = 0x79
export const OP_PUSH27 = 0x7a
export const OP_PUSH28 = 0x7b
export const OP_PUSH29 = 0x7c
export const OP_PUSH30 = 0x7d
export const OP_PUSH31 = 0x7e
export const OP_PUSH32 = 0x7f
export const OP_DUP1 = 0x80
export const OP_DUP2 = 0x81
export const OP_DUP3 = 0x82
export const OP_DUP4 = 0x83
export const OP_DUP5 = 0x84
export const OP_DUP6 = 0x85
export const OP_DUP7 = 0x86
export const OP_DUP8 = 0x87
export const OP_DUP9 = 0x88
export const OP_DUP10 = 0x89
export const OP_DUP11 = 0x8a
export const OP_DUP12 = 0x8b
export const OP_DUP13 = 0x8c
export const OP_DUP14 = 0x8d
export const OP_DUP15 = 0x8e
export const OP_DUP16 = 0x8f
export const OP_SWAP1 = 0x90
export const OP_SWAP2 = 0x91
export const OP_SWAP3 = 0x92
export const OP_SWAP4 = 0x93
export const OP_SWAP5 = 0x94
export const OP_SWAP6 = 0x95
export const OP_SWAP7 = 0x96
export const OP_SWAP8 = 0x97
export const OP_SWAP9 = 0x98
export const OP_SWAP10 = 0x99
export const OP_SWAP11 = 0x9a
export const OP_SWAP12 = 0x9b
export const OP_SWAP13 = 0x9c
export const OP_SWAP14 = 0x9d
export const OP_SWAP15 = 0x9e
export const OP_SWAP16 = 0x9f
export const OP_LOG0 = 0xa0
export const OP_LOG1 = 0xa1
export const OP_LOG2 = 0xa2
export const OP_LOG3 = 0xa3
export const OP_LOG4 = 0xa4
export const OP_CREATE = 0xf0
export const OP_CALL = 0xf1
export const OP_CALLCODE = 0xf2
export const OP_RETURN = 0xf3
export const OP_DELEGATECALL = 0xf4
export const OP_CREATE2 = 0xf5
export const OP_STATICCALL = 0xfa
export const OP_REVERT = 0xfd
export const OP_INVALID = 0xfe
export const OP_SELFDESTRUCT = 0xff
