import { hexToBytes } from '../../../src/primitives/bytes.ts'

/** The topic of {@link COUNTER}'s log. */
export const COUNTED = `0x${'c0'.repeat(32)}`

/** Adds 1 to slot 0 and logs the sum with the topic COUNTED. */
export const COUNTER = hexToBytes(`0x5f54600101805f555f527f${COUNTED.slice(2)}60205fa100`)

/** Reverts with its calldata. */
export const REVERTER = hexToBytes('0x365f5f37365ffd')

/** Returns its calldata. */
export const ECHO = hexToBytes('0x365f5f37365ff3')

/** INVALID */
export const BROKEN = hexToBytes('0xfe')

/** Jumps to itself for ever. */
export const LOOP = hexToBytes('0x5b5f56')

/** Returns BASEFEE, GASPRICE, NUMBER, TIMESTAMP, COINBASE, PREVRANDAO. */
export const ENVIRONMENT = hexToBytes('0x485f523a6020524360405242606052416080524460a05260c05ff3')

/** Calls the contract whose address is its calldata with all gas it may pass on; INVALID when that call fails. */
export const FORWARDER = hexToBytes('0x5f5f5f5f5f5f355af1600d57fe5b00')
