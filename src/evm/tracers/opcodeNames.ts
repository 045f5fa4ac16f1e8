/** Names as geth prints them (core/vm/opcodes.go); 0x44 is DIFFICULTY there in every fork. */
const NAMES: Readonly<Record<number, string>> = {
  ...named(0x00, 'STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND'),
  ...named(0x10, 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ'),
  ...named(0x20, 'KECCAK256'),
  ...named(0x30, 'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY'),
  ...named(0x38, 'CODESIZE CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH'),
  ...named(0x40, 'BLOCKHASH COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE'),
  ...named(0x48, 'BASEFEE BLOBHASH BLOBBASEFEE'),
  ...named(0x50, 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0'),
  ...numbered(0x60, 'PUSH', 1, 32),
  ...numbered(0x80, 'DUP', 1, 16),
  ...numbered(0x90, 'SWAP', 1, 16),
  ...numbered(0xa0, 'LOG', 0, 5),
  ...named(0xf0, 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2'),
  250: 'STATICCALL',
  253: 'REVERT',
  254: 'INVALID',
  255: 'SELFDESTRUCT',
}

/** geth's name of an opcode; `opcode 0x… not defined` for the others. */
export function opcodeName(opcode: number): string {
  return NAMES[opcode] ?? `opcode 0x${opcode.toString(16)} not defined`
}

function named(first: number, names: string): Record<number, string> {
  return Object.fromEntries(names.split(' ').map((name, index) => [first + index, name]))
}

function numbered(first: number, name: string, from: number, count: number): Record<number, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [first + index, `${name}${from + index}`]))
}
