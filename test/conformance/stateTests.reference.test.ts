import { stateTestSuites } from './stateTestSuites.ts'

await stateTestSuites('reference', 24)
