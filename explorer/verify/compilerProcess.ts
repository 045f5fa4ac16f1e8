import { createContext, runInContext, constants as vm } from 'node:vm'

/*
 * A process that compiles once and ends: compile.ts starts it without environment, and with Node.js's permissions for reading this file
 * alone. Its input is the length of the compiler (4 bytes, big-endian), the compiler and standard JSON; its output is standard JSON.
 *
 * The compiler runs in a context that has JavaScript's own objects and WebAssembly, and nothing of Node.js: no network, which Node.js's
 * permissions do not take away. The context does not hold JavaScript that tries to escape; the list of hashes keeps that out. It holds
 * sources that exploit a fault in solc, which is WebAssembly. Input and output are texts.
 */

const parts: Buffer[] = []
for await (const part of process.stdin) parts.push(part as Buffer)
const received = Buffer.concat(parts)
const end = 4 + received.readUInt32BE(0)

const context = createContext(vm.DONT_CONTEXTIFY)
runInContext(received.toString('utf8', 4, end), context, { filename: 'soljson.js' })
context.input = received.toString('utf8', end)
/*
 * As solc's own wrapper calls it, but without callbacks: an import that is not among the sources is an error. Compilers before 0.5 have
 * `compileStandard`, those before 0.6 `_malloc` instead of `solidity_alloc`.
 */
const output: unknown = runInContext(
  `(() => {
    const size = Module.lengthBytesUTF8(input) + 1
    const place = (Module._solidity_alloc ?? Module._malloc)(size)
    Module.stringToUTF8(input, place, size)
    const name = Module._solidity_compile ? 'solidity_compile' : 'compileStandard'
    return Module.cwrap(name, 'string', ['number', 'number', 'number'])(place, 0, 0)
  })()`,
  context,
)
if (typeof output !== 'string') throw new TypeError('the compiler returned no output')
process.stdout.write(output)
