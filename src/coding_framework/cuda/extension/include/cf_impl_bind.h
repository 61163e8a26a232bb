// Part of cf_runtime.cu: loading a module and calling what it defines.
#pragma once

namespace cf {

static std::vector<Function*> functions;  // as long as the shared object
Function::~Function() = default;
Result::~Result() = default;
void define(Function* function) { functions.push_back(function); }
const char* function_name(int32_t index) {
    return index < int32_t(functions.size()) ? functions[index]->name.c_str() : nullptr;
}

RawValue give_tensor(Result& result, const at::Tensor& v) { result.tensors.push_back(v); return Value(v); }
RawValue give_tensors(Result& result, const std::vector<at::Tensor>& v) { result.lists.push_back(v); return Value(result.lists.back()); }
RawValue give_string(Result& result, const std::string& v) {
    result.strings.emplace_back(v.c_str(), v.c_str() + v.size() + 1);
    return Value(result.strings.back().data());
}
RawValue give_values(Result& result, std::vector<RawValue>&& v) {
    result.tuples.push_back(std::move(v));
    Value value(kValueList);
    value.pointer = result.tuples.back().data();
    value.count = int32_t(result.tuples.back().size());
    return value;
}
RawValue give_integers(Result& result, std::vector<int64_t>&& v) {
    result.integers.push_back(std::move(v));
    return Value(c10::IntArrayRef(result.integers.back()));
}
RawValue give_reals(Result& result, std::vector<double>&& v) {
    result.reals.push_back(std::move(v));
    Value value(kDoubleList);
    value.pointer = result.reals.back().data();
    value.count = int32_t(result.reals.back().size());
    return value;
}

void mismatch() { throw Mismatch(); }
at::Tensor take_tensor(const RawValue& v) {
    if (v.tag == kNone) return {};
    if (v.tag != kTensor) mismatch();
    return *static_cast<const at::Tensor*>(v.pointer);
}
std::vector<at::Tensor> take_tensors(const RawValue& v) {
    if (v.count == 0 && v.tag == kIntList) return {};  // an empty list has no kind
    if (v.tag != kTensorList) mismatch();
    auto* first = static_cast<const at::Tensor*>(v.pointer);
    return std::vector<at::Tensor>(first, first + v.count);
}
std::string take_string(const RawValue& v) {
    if (v.tag != kString) mismatch();
    return static_cast<const char*>(v.pointer);
}
c10::Scalar take_scalar(const RawValue& v) {
    if (v.tag == kDouble) return v.real;
    if (v.tag == kBool) return v.integer != 0;
    if (v.tag != kInt) mismatch();
    return v.integer;
}

static int32_t failed(char* error, const char* message) {
    std::strncpy(error, message, kErrorBytes - 1);
    error[kErrorBytes - 1] = 0;
    return 1;
}

int32_t load(const Host* given, void (*define)(pybind11::module_&), char* error) {
    if (given->abi_version != kAbiVersion) return failed(error, "the extension was built for another version of the host");
    if (!functions.empty()) return failed(error, "the extension is loaded already in this process");
    host = *given;
    try {
        pybind11::module_ module;
        define(module);
        return 0;
    } catch (const std::exception& problem) {
        return failed(error, problem.what());
    } catch (...) {
        return failed(error, "the module could not be set up");
    }
}

// Takes over the host's records: afterwards a value points to tensors of ours, which any overload may copy.
static std::vector<std::vector<at::Tensor>> take_over(std::vector<RawValue>& arguments) {
    std::vector<std::vector<at::Tensor>> kept;
    for (RawValue& value : arguments) {
        if (value.tag != kTensor && value.tag != kTensorList) continue;
        auto* records = static_cast<TensorRecord*>(const_cast<void*>(value.pointer));
        kept.emplace_back();
        for (int i = 0; i < value.count; ++i) kept.back().push_back(at::Tensor::adopt(records[i]));
        value.pointer = kept.back().data();
    }
    return kept;
}

// The given arguments with defaults behind them; false when their number does not fit.
static bool complete(const Function& function, const std::vector<RawValue>& given, std::vector<RawValue>& all) {
    const int missing = function.arity - int(given.size());
    if (missing < 0 || missing > int(function.defaults.size())) return false;
    all = given;
    all.insert(all.end(), function.defaults.end() - missing, function.defaults.end());
    return true;
}

int32_t invoke(Call* call) {
    bool known = false;
    std::vector<RawValue> given(call->arguments, call->arguments + call->count);
    const auto kept = take_over(given);
    for (Function* function : functions) {
        if (function->name != call->function) continue;
        known = true;
        std::vector<RawValue> arguments;
        if (!complete(*function, given, arguments)) continue;
        Result* result = new Result;
        try {
            call->result = function->invoke(arguments.data(), *result);
            call->keep_alive = result;
            return 0;
        } catch (const Mismatch&) {
            delete result;
        } catch (const std::exception& problem) {
            delete result;
            return failed(call->error, problem.what());
        } catch (...) {
            delete result;
            return failed(call->error, "the extension threw something that is no std::exception");
        }
    }
    return failed(call->error, text(call->function, known ? "(): incompatible function arguments" : "(): no such function").c_str());
}
void finish(Call* call) { delete static_cast<Result*>(call->keep_alive); }

}  // namespace cf

namespace pybind11 {

// What a default points into lives as long as the module, which is never unloaded.
void module_::note(cf::Function* function, const arg_v& argument) {
    cf::RawValue value = argument.value;
    if (value.tag == cf::kString) value.pointer = (new std::string(argument.text))->c_str();
    if (value.tag == cf::kIntList) value = cf::Value(c10::IntArrayRef(*new std::vector<int64_t>(argument.list)));
    function->defaults.push_back(value);
}

}  // namespace pybind11
