import * as constants from '../../assembly/evm/constants.ts'

type Constants = typeof constants
type Opcodes = {
  readonly [Name in keyof Constants as Name extends `OP_${infer Opcode}` ? Opcode : never]: Constants[Name]
}

const PREFIX = 'OP_'

/** Ethereum's opcodes by name, up to those of Osaka: the OP_… of the WebAssembly engine's constants. */
export const OP = Object.fromEntries(
  Object.entries(constants)
    .filter(([name]) => name.startsWith(PREFIX))
    .map(([name, opcode]) => [name.slice(PREFIX.length), opcode]),
) as Opcodes

const NAMES: ReadonlyMap<number, string> = new Map([
  ...Object.entries(OP).map(([name, opcode]) => [opcode, name] as const),
  [OP.PREVRANDAO, 'DIFFICULTY'],
])

/**
 * Returns the name of an opcode as geth prints it in traces (core/vm/opcodes.go), which has
 * DIFFICULTY for 0x44 in every fork; `opcode 0x… not defined` for other bytes.
 */
export function opcodeName(opcode: number): string {
  return NAMES.get(opcode) ?? `opcode 0x${opcode.toString(16)} not defined`
}
