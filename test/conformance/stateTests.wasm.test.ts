import { stateTestSuites } from './stateTestSuites.ts'

await stateTestSuites('wasm', 2)
// short codes never get to the block loop by themselves
await stateTestSuites('wasm-blocks', 8)
