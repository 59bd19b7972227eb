import { exitWhenParentGone } from '../../embedded/children/parent-watch.ts'

/** Loaded into a process by `--import`. Ends the process when the test that started it ends, in any way. */
exitWhenParentGone(() => process.exit(1))
