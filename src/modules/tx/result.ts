export type { NativeResult } from '../../chain/nativeResult.ts'
