// Every opcode's cost, and how many items it takes and pushes (yellow paper, appendix H, and the
// EIPs up to Osaka), and other differences between forks.
import {
  FORK_OSAKA, FORK_PRAGUE, OP_ADD, OP_ADDMOD, OP_ADDRESS, OP_AND, OP_BALANCE, OP_BASEFEE, OP_BLOBBASEFEE, OP_BLOBHASH,
  OP_BLOCKHASH, OP_BYTE, OP_CALL, OP_CALLCODE, OP_CALLDATACOPY, OP_CALLDATALOAD, OP_CALLDATASIZE, OP_CALLVALUE,
  OP_CHAINID, OP_CLZ, OP_CODECOPY, OP_CODESIZE, OP_COINBASE, OP_CREATE, OP_CREATE2, OP_DELEGATECALL, OP_DIV, OP_DUP1,
  OP_EQ, OP_EXP, OP_EXTCODECOPY, OP_EXTCODEHASH, OP_EXTCODESIZE, OP_GAS, OP_GASPRICE, OP_ISZERO, OP_JUMP, OP_JUMPDEST,
  OP_JUMPI, OP_KECCAK256, OP_LOG0, OP_LT, OP_MCOPY, OP_MLOAD, OP_MSIZE, OP_MSTORE, OP_MSTORE8, OP_MUL, OP_MULMOD,
  OP_NOT, OP_ORIGIN, OP_PC, OP_POP, OP_PUSH0, OP_PUSH1, OP_PUSH32, OP_RETURN, OP_RETURNDATACOPY, OP_RETURNDATASIZE,
  OP_REVERT, OP_SAR, OP_SELFBALANCE, OP_SELFDESTRUCT, OP_SIGNEXTEND, OP_SLOAD, OP_SMOD, OP_SSTORE, OP_STATICCALL,
  OP_SUB, OP_SWAP1, OP_TLOAD, OP_TSTORE, OP_XOR,
} from './constants'

/** EIP-7702 */
export let hasDelegations: bool = false
/** EIP-7939 */
export let hasCountLeadingZeros: bool = false

export function setFork(fork: u32): void {
  hasDelegations = fork >= <u32>FORK_PRAGUE
  hasCountLeadingZeros = fork >= <u32>FORK_OSAKA
}

/** Bits 0..15: fixed gas; 16..23: words it takes (DUP and SWAP: reaches); 24..31: words that the stack grows by, signed. */
export const properties: usize = heap.alloc(256 * 4)
/** 1: the opcode after this one begins a new basic block (blocks.ts). */
export const endings: usize = heap.alloc(256)

function define(opcode: u32, inputs: u32, outputs: u32, gas: u32): void {
  store<u32>(properties + (opcode << 2), gas | (inputs << 16) | ((outputs - inputs) << 24))
  store<u8>(endings + opcode, 0)
}

/**
 * Defines like {@link define} an opcode that ends its basic block: it jumps, ends the frame, reads
 * the gas, or can fail by itself.
 */
function defineEnding(opcode: u32, inputs: u32, outputs: u32, gas: u32): void {
  define(opcode, inputs, outputs, gas)
  store<u8>(endings + opcode, 1)
}

function defineRange(first: u32, last: u32, inputs: u32, outputs: u32, gas: u32): void {
  for (let opcode = first; opcode <= last; opcode++) define(opcode, inputs, outputs, gas)
}

/**
 * Fills in the table. Gas that depends on operands is charged where the opcode runs, and has 0 here: SSTORE's in
 * storageOpcodes.ts, that of calls in calls.ts, of accounts in environmentOpcodes.ts, of copies in copyOpcodes.ts.
 */
export function defineOpcodes(hasCountLeadingZeros: bool): void {
  for (let opcode: u32 = 0; opcode < 256; opcode++) defineEnding(opcode, 0, 0, 0)
  define(OP_ADD, 2, 1, 3)
  define(OP_MUL, 2, 1, 5)
  define(OP_SUB, 2, 1, 3)
  defineRange(OP_DIV, OP_SMOD, 2, 1, 5) // DIV SDIV MOD SMOD
  defineRange(OP_ADDMOD, OP_MULMOD, 3, 1, 8)
  define(OP_EXP, 2, 1, 10)
  define(OP_SIGNEXTEND, 2, 1, 5)
  defineRange(OP_LT, OP_EQ, 2, 1, 3) // LT GT SLT SGT EQ
  define(OP_ISZERO, 1, 1, 3)
  defineRange(OP_AND, OP_XOR, 2, 1, 3) // AND OR XOR
  define(OP_NOT, 1, 1, 3)
  defineRange(OP_BYTE, OP_SAR, 2, 1, 3) // BYTE SHL SHR SAR
  if (hasCountLeadingZeros) define(OP_CLZ, 1, 1, 5)
  define(OP_KECCAK256, 2, 1, 30)
  define(OP_ADDRESS, 0, 1, 2)
  define(OP_BALANCE, 1, 1, 0)
  defineRange(OP_ORIGIN, OP_CALLVALUE, 0, 1, 2) // ORIGIN CALLER CALLVALUE
  define(OP_CALLDATALOAD, 1, 1, 3)
  define(OP_CALLDATASIZE, 0, 1, 2)
  define(OP_CALLDATACOPY, 3, 0, 3)
  define(OP_CODESIZE, 0, 1, 2)
  define(OP_CODECOPY, 3, 0, 3)
  define(OP_GASPRICE, 0, 1, 2)
  define(OP_EXTCODESIZE, 1, 1, 0)
  define(OP_EXTCODECOPY, 4, 0, 0)
  define(OP_RETURNDATASIZE, 0, 1, 2)
  defineEnding(OP_RETURNDATACOPY, 3, 0, 3)
  define(OP_EXTCODEHASH, 1, 1, 0)
  define(OP_BLOCKHASH, 1, 1, 20)
  defineRange(OP_COINBASE, OP_CHAINID, 0, 1, 2) // COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID
  define(OP_SELFBALANCE, 0, 1, 5)
  define(OP_BASEFEE, 0, 1, 2)
  define(OP_BLOBHASH, 1, 1, 3)
  define(OP_BLOBBASEFEE, 0, 1, 2)
  define(OP_POP, 1, 0, 2)
  define(OP_MLOAD, 1, 1, 3)
  defineRange(OP_MSTORE, OP_MSTORE8, 2, 0, 3)
  define(OP_SLOAD, 1, 1, 0)
  defineEnding(OP_SSTORE, 2, 0, 0)
  defineEnding(OP_JUMP, 1, 0, 8)
  defineEnding(OP_JUMPI, 2, 0, 10)
  defineRange(OP_PC, OP_MSIZE, 0, 1, 2)
  defineEnding(OP_GAS, 0, 1, 2)
  define(OP_JUMPDEST, 0, 0, 1)
  define(OP_TLOAD, 1, 1, 100)
  defineEnding(OP_TSTORE, 2, 0, 100)
  define(OP_MCOPY, 3, 0, 3)
  define(OP_PUSH0, 0, 1, 2)
  defineRange(OP_PUSH1, OP_PUSH32, 0, 1, 3)
  for (let n: u32 = 1; n <= 16; n++) {
    define(OP_DUP1 + n - 1, n, n + 1, 3)
    define(OP_SWAP1 + n - 1, n + 1, n + 1, 3)
  }
  for (let topics: u32 = 0; topics <= 4; topics++) defineEnding(OP_LOG0 + topics, 2 + topics, 0, 375 + 375 * topics)
  defineEnding(OP_CREATE, 3, 1, 32_000)
  defineEnding(OP_CALL, 7, 1, 0)
  defineEnding(OP_CALLCODE, 7, 1, 0)
  defineEnding(OP_RETURN, 2, 0, 0)
  defineEnding(OP_DELEGATECALL, 6, 1, 0)
  defineEnding(OP_CREATE2, 4, 1, 32_000)
  defineEnding(OP_STATICCALL, 6, 1, 0)
  defineEnding(OP_REVERT, 2, 0, 0)
  defineEnding(OP_SELFDESTRUCT, 1, 0, 5_000)
}
