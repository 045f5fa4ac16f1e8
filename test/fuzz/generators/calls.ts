import { OP } from '../../../src/evm/opcodes.ts'
import { edgeWord } from '../edgeWords.ts'
import { standardPrecompile, TOKEN } from '../population.ts'
import { PROBE_ADDRESS } from '../probePrecompile.ts'
import { emit, expression, type Program, pushAddress, pushExtent, pushWord } from './program.ts'

const GAS_AMOUNTS: readonly bigint[] = [
  0n,
  1n,
  100n,
  700n,
  2_299n,
  2_300n,
  2_301n,
  3_000n,
  9_000n,
  20_000n,
  60_000n,
  2n ** 32n,
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 256n - 1n,
]

/** Selectors of the native token's functions, by what follows them: words. */
const TOKEN_SELECTORS: readonly bigint[] = [
  0x06fdde03n,
  0x18160dddn,
  0x70a08231n,
  0xdd62ed3en,
  0xa9059cbbn,
  0x095ea7b3n,
  0x23b872ddn,
  0xd0e30db0n,
  0x2e1a7d4dn,
  0x12345678n,
]

/** A call of any kind to any account, whose success flag stays on the stack; often its return data is read. */
export function callStatement(program: Program): void {
  const { random } = program
  const kind = random.pick([OP.CALL, OP.CALL, OP.CALL, OP.STATICCALL, OP.DELEGATECALL, OP.DELEGATECALL, OP.CALLCODE])
  const target = random.below(12)
  if (target === 0) prepareTokenInput(program)
  else if (target === 1) prepareProbeInput(program)
  pushExtent(program)
  pushExtent(program)
  if (target === 0) tokenInputExtent(program)
  else {
    pushExtent(program)
    if (random.oneIn(2)) pushWord(program, 0n)
    else pushExtent(program)
  }
  if (kind === OP.CALL || kind === OP.CALLCODE) pushValue(program)
  if (target === 0) pushAddress(program, TOKEN)
  else if (target === 1) pushAddress(program, PROBE_ADDRESS)
  else if (target === 2) emit(program, OP.ADDRESS, 0, 1)
  else if (target === 3) pushAddress(program, standardPrecompile(random))
  else pushAddress(program)
  pushGas(program)
  emit(program, kind, kind === OP.CALL || kind === OP.CALLCODE ? 7 : 6, 1)
  if (random.oneIn(4)) {
    emit(program, OP.RETURNDATASIZE, 0, 1)
    pushWord(program, 0n)
    pushWord(program, BigInt(32 * random.below(4)))
    emit(program, OP.RETURNDATACOPY, 3, 0)
  }
}

export function pushValue(program: Program): void {
  const { random } = program
  if (!random.oneIn(3)) pushWord(program, 0n)
  else if (random.oneIn(12)) pushWord(program, edgeWord(random))
  else pushWord(program, BigInt(random.below(4)))
}

function pushGas(program: Program): void {
  const { random } = program
  if (random.oneIn(3)) pushWord(program, random.pick(GAS_AMOUNTS))
  else emit(program, OP.GAS, 0, 1)
}

/** A selector and up to three arguments, from memory offset 28 on. */
function prepareTokenInput(program: Program): void {
  const { random } = program
  pushWord(program, random.pick(TOKEN_SELECTORS))
  pushWord(program, 0n)
  emit(program, OP.MSTORE, 2, 0)
  for (let word = 0; word < 3; word++) {
    if (random.oneIn(3)) pushWord(program, BigInt(random.below(4)))
    else if (random.oneIn(6)) expression(program, 2)
    else pushAddress(program)
    pushWord(program, BigInt(32 + 32 * word))
    emit(program, OP.MSTORE, 2, 0)
  }
}

function tokenInputExtent(program: Program): void {
  pushWord(program, BigInt(4 + 32 * program.random.below(4)))
  pushWord(program, 28n)
}

/** The first two bytes of memory: what to do, and with which slot. */
function prepareProbeInput(program: Program): void {
  for (let offset = 0n; offset < 2n; offset++) {
    pushWord(program, BigInt(program.random.below(256)))
    pushWord(program, offset)
    emit(program, OP.MSTORE8, 2, 0)
  }
}
