import { opcodeName } from '../../src/evm/opcodes.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'

const PUSH0 = 0x5f
const PUSH2 = 0x61
const JUMPDEST = 0x5b

const OPCODES: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 256 }, (_, opcode): [string, number] => [opcodeName(opcode), opcode]).filter(
    ([name]) => !name.includes(' '),
  ),
)

/**
 * Returns the bytes of a program in words: names of opcodes (geth's), numbers (decimal or 0x…;
 * pushed by the shortest PUSH that holds their digits), `:name` for a JUMPDEST, `@name` for a push
 * of its position, `#hex` for bytes as they are; text after `;` up to the end of its line is a
 * remark.
 * @throws Error for any other word
 */
export function assemble(program: string): Uint8Array {
  const bytes: number[] = []
  const labels = new Map<string, number>()
  const uses: { readonly at: number; readonly name: string }[] = []
  for (const word of program.replace(/;.*$/gm, '').split(/\s+/).filter(Boolean)) {
    if (word.startsWith(':')) {
      labels.set(word.slice(1), bytes.length)
      bytes.push(JUMPDEST)
    } else if (word.startsWith('@')) {
      uses.push({ at: bytes.length + 1, name: word.slice(1) })
      bytes.push(PUSH2, 0, 0)
    } else if (word.startsWith('#')) {
      bytes.push(...hexToBytes(`0x${word.slice(1)}`))
    } else if (/^\d/.test(word)) {
      bytes.push(...push(word))
    } else {
      bytes.push(opcodeOf(word))
    }
  }
  for (const { at, name } of uses) {
    const position = labels.get(name)
    if (position === undefined) throw new Error(`no label :${name}`)
    bytes[at] = position >> 8
    bytes[at + 1] = position & 0xff
  }
  return Uint8Array.from(bytes)
}

/** Returns the opcode with this name. @throws Error when there is no such opcode */
function opcodeOf(name: string): number {
  const opcode = name === 'PREVRANDAO' ? OPCODES.get('DIFFICULTY') : OPCODES.get(name)
  if (opcode === undefined) throw new Error(`no opcode ${name}`)
  return opcode
}

/** Returns the words of a program, `count` times. */
export function repeat(program: string, count: number): string {
  return Array.from({ length: count }, () => program).join(' ')
}

/** Returns creation code that deploys `code`. */
export function creationCode(code: Uint8Array): Uint8Array {
  const length = `0x${code.length.toString(16).padStart(4, '0')}`
  return assemble(`${length} DUP1 0x000b PUSH0 CODECOPY PUSH0 RETURN #${bytesToHex(code).slice(2)}`)
}

function push(number: string): number[] {
  if (number === '0') return [PUSH0]
  const digits = number.startsWith('0x') ? number.slice(2) : BigInt(number).toString(16)
  const content = hexToBytes(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`)
  if (content.length > 32) throw new Error(`${number} has more than 32 bytes`)
  return [PUSH0 + content.length, ...content]
}
