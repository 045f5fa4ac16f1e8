// What every opcode takes and gives (yellow paper, appendix H, and the EIPs up to Osaka).

/** Bits 0..15: fixed gas; 16..23: words it takes (DUP and SWAP: reaches); 24..31: words that the stack grows by, signed. */
export const properties: usize = heap.alloc(256 * 4)
/** 1: an opcode behind this one begins a new block. */
export const endings: usize = heap.alloc(256)

export const STOP: u32 = 0x00
export const CLZ: u32 = 0x1e
export const JUMP: u32 = 0x56
export const JUMPI: u32 = 0x57
export const JUMPDEST: u32 = 0x5b
export const PUSH1: u32 = 0x60
export const PUSH32: u32 = 0x7f
export const CREATE: u32 = 0xf0
export const CALL: u32 = 0xf1
export const CALLCODE: u32 = 0xf2
export const RETURN: u32 = 0xf3
export const DELEGATECALL: u32 = 0xf4
export const CREATE2: u32 = 0xf5
export const STATICCALL: u32 = 0xfa
export const INVALID: u32 = 0xfe
export const SELFDESTRUCT: u32 = 0xff

function define(opcode: u32, inputs: u32, outputs: u32, gas: u32): void {
  store<u32>(properties + (opcode << 2), gas | (inputs << 16) | ((outputs - inputs) << 24))
  store<u8>(endings + opcode, 0)
}

/** As {@link define}; what follows is a new block, since the opcode jumps, ends, looks at the gas, or fails in ways of its own. */
function defineEnding(opcode: u32, inputs: u32, outputs: u32, gas: u32): void {
  define(opcode, inputs, outputs, gas)
  store<u8>(endings + opcode, 1)
}

function defineRange(first: u32, last: u32, inputs: u32, outputs: u32, gas: u32): void {
  for (let opcode = first; opcode <= last; opcode++) define(opcode, inputs, outputs, gas)
}

export function defineOpcodes(hasCountLeadingZeros: bool): void {
  for (let opcode: u32 = 0; opcode < 256; opcode++) defineEnding(opcode, 0, 0, 0)
  define(0x01, 2, 1, 3) // ADD
  define(0x02, 2, 1, 5) // MUL
  define(0x03, 2, 1, 3) // SUB
  defineRange(0x04, 0x07, 2, 1, 5) // DIV SDIV MOD SMOD
  defineRange(0x08, 0x09, 3, 1, 8) // ADDMOD MULMOD
  define(0x0a, 2, 1, 10) // EXP
  define(0x0b, 2, 1, 5) // SIGNEXTEND
  defineRange(0x10, 0x14, 2, 1, 3) // LT GT SLT SGT EQ
  define(0x15, 1, 1, 3) // ISZERO
  defineRange(0x16, 0x18, 2, 1, 3) // AND OR XOR
  define(0x19, 1, 1, 3) // NOT
  defineRange(0x1a, 0x1d, 2, 1, 3) // BYTE SHL SHR SAR
  if (hasCountLeadingZeros) define(CLZ, 1, 1, 5)
  define(0x20, 2, 1, 30) // KECCAK256
  define(0x30, 0, 1, 2) // ADDRESS
  define(0x31, 1, 1, 0) // BALANCE
  defineRange(0x32, 0x34, 0, 1, 2) // ORIGIN CALLER CALLVALUE
  define(0x35, 1, 1, 3) // CALLDATALOAD
  define(0x36, 0, 1, 2) // CALLDATASIZE
  define(0x37, 3, 0, 3) // CALLDATACOPY
  define(0x38, 0, 1, 2) // CODESIZE
  define(0x39, 3, 0, 3) // CODECOPY
  define(0x3a, 0, 1, 2) // GASPRICE
  define(0x3b, 1, 1, 0) // EXTCODESIZE
  define(0x3c, 4, 0, 0) // EXTCODECOPY
  define(0x3d, 0, 1, 2) // RETURNDATASIZE
  defineEnding(0x3e, 3, 0, 3) // RETURNDATACOPY
  define(0x3f, 1, 1, 0) // EXTCODEHASH
  define(0x40, 1, 1, 20) // BLOCKHASH
  defineRange(0x41, 0x46, 0, 1, 2) // COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID
  define(0x47, 0, 1, 5) // SELFBALANCE
  define(0x48, 0, 1, 2) // BASEFEE
  define(0x49, 1, 1, 3) // BLOBHASH
  define(0x4a, 0, 1, 2) // BLOBBASEFEE
  define(0x50, 1, 0, 2) // POP
  define(0x51, 1, 1, 3) // MLOAD
  defineRange(0x52, 0x53, 2, 0, 3) // MSTORE MSTORE8
  define(0x54, 1, 1, 0) // SLOAD
  defineEnding(0x55, 2, 0, 0) // SSTORE
  defineEnding(JUMP, 1, 0, 8)
  defineEnding(JUMPI, 2, 0, 10)
  defineRange(0x58, 0x59, 0, 1, 2) // PC MSIZE
  defineEnding(0x5a, 0, 1, 2) // GAS
  define(JUMPDEST, 0, 0, 1)
  define(0x5c, 1, 1, 100) // TLOAD
  defineEnding(0x5d, 2, 0, 100) // TSTORE
  define(0x5e, 3, 0, 3) // MCOPY
  define(0x5f, 0, 1, 2) // PUSH0
  defineRange(PUSH1, PUSH32, 0, 1, 3)
  for (let n: u32 = 1; n <= 16; n++) {
    define(0x7f + n, n, n + 1, 3) // DUP
    define(0x8f + n, n + 1, n + 1, 3) // SWAP
  }
  for (let topics: u32 = 0; topics <= 4; topics++) defineEnding(0xa0 + topics, 2 + topics, 0, 375 + 375 * topics)
  defineEnding(CREATE, 3, 1, 32_000)
  defineEnding(CALL, 7, 1, 0)
  defineEnding(CALLCODE, 7, 1, 0)
  defineEnding(RETURN, 2, 0, 0)
  defineEnding(DELEGATECALL, 6, 1, 0)
  defineEnding(CREATE2, 4, 1, 32_000)
  defineEnding(STATICCALL, 6, 1, 0)
  defineEnding(0xfd, 2, 0, 0) // REVERT
  defineEnding(SELFDESTRUCT, 1, 0, 5_000)
}
