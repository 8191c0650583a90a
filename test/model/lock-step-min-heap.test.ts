import { lockStepSuite } from "./lock-step-suite.ts";

lockStepSuite("minHeap");
