// The layout of linear memory: blocks that live as long as the instance, and the offsets of fields in records.
import { ENV_LENGTH, MESSAGE_LENGTH, RESULT_LENGTH } from './constants'

export const WORD: usize = 32
export const STACK_LIMIT: usize = 1024
/** The transaction's own frame has depth 0. */
export const MAX_DEPTH: u32 = 1024

export const environment: usize = heap.alloc(ENV_LENGTH)
export const message: usize = heap.alloc(MESSAGE_LENGTH)
export const result: usize = heap.alloc(RESULT_LENGTH)

// A frame. The first three offsets are FRAME_… of the constants.
export const ADDRESS: usize = 0
export const CALLER: usize = 32
export const TRACED_RETURN_DATA: usize = 64
export const TRACED_RETURN_LENGTH: usize = 68
/** next opcode, as an offset in the code */
export const PC: usize = 72
/** pointer to the top word */
export const SP: usize = 76
export const GAS: usize = 80
export const MEMORY: usize = 88
/** bytes, a multiple of 32 */
export const MEMORY_SIZE: usize = 92
export const CODE: usize = 96
/** pointer to the lowest word */
export const STACK: usize = 100
export const INPUT: usize = 104
export const INPUT_LENGTH: usize = 108
export const IS_STATIC: usize = 112
export const IS_CREATION: usize = 116
/** opcode that made the frame, 0 for the first */
export const KIND: usize = 120
/** end of the undo log when the frame began */
export const UNDO_MARK: usize = 124
export const VALUE: usize = 128
export const ADDRESS_WORD: usize = 160
export const CALLER_WORD: usize = 192
export const REFUND_BEFORE: usize = 224
/** where the output goes in the caller's memory */
export const OUTPUT: usize = 232
export const OUTPUT_LENGTH: usize = 236
export const GAS_AT_START: usize = 240
/** account record of ADDRESS */
export const RECORD: usize = 248
/** the block loop has left the frame to the plain loop */
export const IS_PLAIN: usize = 252
/** memory chunk in which the frame's memory is */
export const CHUNK: usize = 256
export const FRAME_SIZE: usize = 272

export const frames: usize = heap.alloc(FRAME_SIZE * (<usize>MAX_DEPTH + 2))
/** Stacks of all frames, not initialized: the unused part (most of them) takes no physical memory. */
export const stacks: usize = heap.alloc(WORD * STACK_LIMIT * (<usize>MAX_DEPTH + 2))

/** Room for bytes that are passed to the host: keys, addresses, words. */
export const scratch: usize = heap.alloc(256)

// An account record. Up to 96 bytes, and the last field, the host reads and writes it (RECORD_… of the constants).
export const ACCOUNT_FLAGS: usize = 20
export const ACCOUNT_CODE: usize = 24
export const ACCOUNT_EPOCH: usize = 28
export const ACCOUNT_BALANCE: usize = 32
export const ACCOUNT_CODE_HASH: usize = 64
export const ACCOUNT_NEXT: usize = 96
export const ACCOUNT_IS_WARM: usize = 100
/** the record made before this one */
export const ACCOUNT_OLDER: usize = 104
export const ACCOUNT_LEAST_GAS: usize = 112
export const ACCOUNT_SIZE: usize = 128

// A slot record, of storage or of transient storage.
export const SLOT_NEXT: usize = 0
/** account record; its lowest bit is set for transient storage */
export const SLOT_OWNER: usize = 4
export const SLOT_IS_WARM: usize = 8
export const SLOT_EPOCH: usize = 12
export const SLOT_KEY: usize = 16
/** the host writes value and original value together */
export const SLOT_VALUE: usize = 48
export const SLOT_ORIGINAL: usize = 80
/** the world does not have the value yet */
export const SLOT_IS_DIRTY: usize = 112
/** the record made before this one */
export const SLOT_OLDER: usize = 116
export const SLOT_SIZE: usize = 128

// A code entry; the code's bytes follow it. The first two offsets are CODE_… of the constants.
export const CODE_BYTES: usize = 0
export const CODE_LENGTH: usize = 4
/** a byte for each byte of code: 1 where a jump may go; 0 = not analysed */
export const CODE_JUMPS: usize = 8
/** a u64 for each byte of code: what the block costs that begins there; 0 = the code is not hot */
export const CODE_BLOCKS: usize = 12
/** frames that run it */
export const CODE_USERS: usize = 16
/** jumps that the plain loop has taken in it */
export const CODE_HEAT: usize = 20
export const CODE_NEXT: usize = 24
export const CODE_PREVIOUS: usize = 28
export const CODE_IS_INIT: usize = 32
export const CODE_HEADER: usize = 64
