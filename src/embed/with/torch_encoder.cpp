/// TorchScript by libtorch 1.13 or later.

#include <ATen/Parallel.h>
#include <torch/script.h>
#include <torch/version.h>

#include <cstring>
#include <string>

#include "candor/base/error.hpp"
#include "candor/embed/encoder.hpp"
#include "candor/store/input_file.hpp"

namespace candor::embed {

namespace {

/// The first line of what libtorch says, which is followed by pages.
std::string first_line(const char* what) {
    const std::string_view text = what;
    return std::string(text.substr(0, text.find('\n')));
}

std::string shape_of(const at::Tensor& tensor) {
    std::string text;
    for (const std::int64_t size : tensor.sizes()) text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text;
}

class TorchEncoder final : public Encoder {
  public:
    explicit TorchEncoder(const EncoderRecipe& recipe) : recipe_(recipe), device_(open_device(recipe)) {
        { const store::InputFile probe(recipe.file); }  // a missing file is told apart from a damaged one
        // As the graph was written, every time alike: what the executor would make of it after a few calls
        // has other bits.
        torch::jit::setGraphExecutorOptimize(false);
        try {
            module_ = torch::jit::load(recipe.file, device_);
            module_.eval();
        } catch (const c10::Error& error) {
            throw DataError({recipe.file},
                            "is no TorchScript module that libtorch " + torch_version() +
                                " can load: " + first_line(error.what_without_backtrace()),
                            "save it with torch.jit.trace(model.eval(), example).save(FILE)");
        }
    }

    Matrix<float> encode(const Batch& batch) const override {
        // Side by side, a thread each: how libtorch would share one product among threads changes its bits.
        at::set_num_threads(1);
        const torch::InferenceMode guard;
        try {
            // The module is not changed by this, and its methods are not const.
            torch::jit::Module module = module_;
            const at::Tensor input =
                torch::from_blob(const_cast<float*>(batch.values.data()),
                                 {batch.images, batch.channels, batch.height, batch.width}, torch::kFloat32)
                    .to(device_);
            const torch::jit::IValue result = module.forward({input});
            if (!result.isTensor()) refuse("gives a " + result.tagKind() + " where one tensor is needed");
            const at::Tensor rows =
                rows_of(result.toTensor(), batch.images).to(torch::kCPU, torch::kFloat32).contiguous();
            Matrix<float> features(rows.size(0), rows.size(1));
            for (std::int64_t i = 0; i < rows.size(0); ++i)
                std::memcpy(features.row(i).data(), rows.data_ptr<float>() + i * rows.size(1),
                            static_cast<std::size_t>(rows.size(1)) * sizeof(float));
            return features;
        } catch (const c10::Error& error) {
            refuse("fails on a batch of " + std::to_string(batch.images) + " x " +
                   std::to_string(batch.channels) + " x " + std::to_string(batch.height) + " x " +
                   std::to_string(batch.width) + ": " + first_line(error.what_without_backtrace()));
        } catch (const std::runtime_error& error) {  // of the interpreter
            if (dynamic_cast<const Error*>(&error) != nullptr) throw;
            std::string_view text = error.what();
            while (text.ends_with('\n')) text.remove_suffix(1);
            refuse("fails on a batch of " + std::to_string(batch.images) + " x " +
                   std::to_string(batch.channels) + " x " + std::to_string(batch.height) + " x " +
                   std::to_string(batch.width) + ": " + std::string(text.substr(text.rfind('\n') + 1)));
        }
    }

  private:
    [[noreturn]] void refuse(const std::string& fault) const {
        throw DataError({recipe_.file}, fault, "export a module that takes this and gives one tensor");
    }

    static torch::Device open_device(const EncoderRecipe& recipe) {
        try {
            const torch::Device device(recipe.device);
            torch::zeros({1}, torch::TensorOptions().device(device));
            return device;
        } catch (const c10::Error& error) {
            throw UsageError("encoder \"" + recipe.id + "\": device",
                             "\"" + recipe.device +
                                 "\" is not to be had here: " + first_line(error.what_without_backtrace()));
        }
    }

    at::Tensor rows_of(const at::Tensor& result, std::int64_t images) const {
        if (result.dim() == 0 || result.size(0) != images)
            refuse("gives " + shape_of(result) + " for " + std::to_string(images) + " images");
        const std::int64_t dimensions = result.dim();
        switch (recipe_.output) {
            case Output::pooled:
                if (dimensions == 2) return result;
                if (dimensions == 4 && result.size(2) == 1 && result.size(3) == 1) return result.flatten(1);
                break;
            case Output::class_token:
                if (dimensions == 3) return result.select(1, 0);
                break;
            case Output::patches:
                if (dimensions == 4) return result.flatten(2).mean(2);
                if (dimensions == 3 && result.size(1) > recipe_.prefix)
                    return result.narrow(1, recipe_.prefix, result.size(1) - recipe_.prefix).mean(1);
                break;
        }
        refuse("gives " + shape_of(result) +
               ", of which its output cannot be taken; pooled is images x numbers, class "
               "is images x tokens x numbers, patches that or images x numbers x height "
               "x width");
    }

    EncoderRecipe recipe_;
    torch::Device device_;
    torch::jit::Module module_;
};

}  // namespace

std::unique_ptr<Encoder> torch_encoder(const EncoderRecipe& recipe) {
    return std::make_unique<TorchEncoder>(recipe);
}

std::string torch_version() {
    return TORCH_VERSION;
}

}  // namespace candor::embed
