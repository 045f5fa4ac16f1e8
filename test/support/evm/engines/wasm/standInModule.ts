import { type WasmModule, WebAssembly } from '../../../../../src/primitives/webAssembly.ts'
import { assemblyCompiler } from '../../../assembly/assemblyCompiler.ts'

/** What the stand-in does, by the first byte of the message's data; it returns how many runs its instance has begun. */
export const SUCCEED = 0
export const TRAP = 1
/** loads the recipient's account */
export const LOAD = 2
/** is done after as many slices as the second byte says */
export const PAUSE = 3
/** takes 200 MB of memory */
export const GROW = 4
export const REVERT = 5
/** has run out of gas */
export const FAIL = 6
/** opens checkpoints, moves the value to the recipient, and traps */
export const TRAP_LATE = 7
/** leaves the second byte of gas */
export const LEAVE = 8

const SOURCE = `
@external('host', 'loadAccount') declare function loadAccount(record: usize): void
@external('host', 'checkpoint') declare function checkpoint(count: u32): void
@external('host', 'transfer') declare function transfer(from: usize, to: usize, value: usize): void
export const environment: u32 = 1024
export const message: u32 = 2048
export const result: u32 = 3072
const input: u32 = 8192
const record: u32 = 4096
let runs: u32 = 0
let slices: u32 = 0
let gasGiven: i64 = 0
export function reset(): void {}
export function reserveInput(length: u32): u32 { return input }
export function reserveOutput(length: u32): u32 { return input }
export function newCode(length: u32): u32 { return input }
export function allocate(length: u32): u32 { return input }
export function start(gas: i64, flags: u32, data: u32, length: u32): void { runs++; slices = 0; gasGiven = gas }
export function run(slice: i64): i32 {
  const what = load<u8>(input)
  store<u32>(result, 0); store<u32>(result, 0, 4); store<i64>(result, gasGiven, 8); store<i64>(result, 0, 16)
  store<u32>(result, 5120, 24); store<u32>(result, 1, 28); store<u8>(5120, <u8>runs)
  if (what == 1) unreachable()
  if (what == 2) { memory.copy(record, message + 32, 20); loadAccount(record) }
  if (what == 3 && slices++ < load<u8>(input, 1)) return 1
  if (what == 4) memory.grow(3200)
  if (what == 5) store<u32>(result, 1)
  if (what == 6) { store<u32>(result, 2); store<u32>(result, 1, 4); store<i64>(result, 0, 8) }
  if (what == 7) { checkpoint(2); transfer(message, message + 32, message + 64); unreachable() }
  if (what == 8) store<i64>(result, load<u8>(input, 1), 8)
  return 0
}
`

/** A module with the engine's exports that runs no code: for what the host does around runs. */
export async function compileStandIn(): Promise<WasmModule> {
  let binary: Uint8Array | undefined
  const { error, stderr } = await assemblyCompiler.main(
    ['standIn.ts', '--outFile', 'standIn.wasm', '--runtime', 'stub', '--initialMemory', '4'],
    {
      readFile: (name) => (name === 'standIn.ts' ? SOURCE : null),
      writeFile: (name, contents) => {
        if (name === 'standIn.wasm' && typeof contents !== 'string') binary = Uint8Array.from(contents)
      },
      listFiles: () => [],
    },
  )
  if (error !== null || binary === undefined) throw new Error(`does not compile\n${stderr.toString()}`)
  return WebAssembly.compile(binary)
}
